use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::Db;
use db_kit::outbox::{self, NewOutboxRow};
use diesel::QueryResult;

use super::medium::{DeliveryOutcome, DeliveryReport, Medium};
use super::model::{
    ACTIVE, Attempt, AttemptReport, DISABLED, DeliveryRow, DestinationRow, HttpReply, NewDelivery,
    REMOVED, Settings, UNKNOWN,
};
use super::queries::deliveries::{self, RetryUpdate};
use super::queries::destinations;
use super::state_machine::{
    AttemptFacts, AttemptOutcome, DeliveryTransition, DestinationTransition, FinalState, LOCKED,
    PENDING, transition,
};

/// What a transaction did, for metrics and wakes after the commit.
#[derive(Debug, Default)]
pub(crate) struct TransitionCounts {
    pub(crate) ended: Vec<(FinalState, usize)>,
    pub(crate) retries: u64,
    pub(crate) possible_duplicates: usize,
    pub(crate) disabled: u64,
    /// Whether there are events in the outbox.
    pub(crate) has_events: bool,
}

/// A finished attempt.
#[derive(Debug, Clone)]
pub(crate) struct FinishedAttempt<M> {
    pub(crate) medium: M,
    pub(crate) now: DateTime<Utc>,
    pub(crate) attempt: Attempt,
    pub(crate) report: AttemptReport,
    /// The process that leased the destination.
    pub(crate) owner: Arc<str>,
}

/// One transaction that changes deliveries and destinations.
pub(crate) struct DeliveryTransaction<'a, M> {
    pub(crate) db: &'a mut Db,
    pub(crate) medium: &'a M,
    pub(crate) counts: TransitionCounts,
    pub(crate) now: DateTime<Utc>,
    /// The events that report the changes.
    pub(crate) events: Vec<NewOutboxRow>,
}

impl<M: Medium> DeliveryTransaction<'_, M> {
    /// Runs `work` in a transaction that the caller has opened, and stores the events that report it.
    pub(crate) fn run<T>(
        db: &mut Db,
        medium: &M,
        now: DateTime<Utc>,
        work: impl FnOnce(&mut DeliveryTransaction<'_, M>) -> QueryResult<T>,
    ) -> QueryResult<(T, TransitionCounts)> {
        let mut tx = DeliveryTransaction {
            db,
            medium,
            counts: TransitionCounts::default(),
            now,
            events: Vec::new(),
        };
        let done = work(&mut tx)?;
        let DeliveryTransaction {
            db, events, counts, ..
        } = tx;
        outbox::insert_all(db, &events)?;
        let has_events = !events.is_empty();
        Ok((
            done,
            TransitionCounts {
                has_events,
                ..counts
            },
        ))
    }

    pub(crate) fn at(&self) -> NaiveDateTime {
        self.now.naive_utc()
    }

    /// Stores a delivery once, and makes its destination due.
    pub(crate) fn store(&mut self, row: NewDelivery) -> QueryResult<()> {
        let (id, give_up_at) = (row.destination_id.clone(), row.give_up_at);
        // A redelivered event changes nothing, even if the delivery is settled by now.
        if self.insert(&[row])?.is_empty() {
            return Ok(());
        }
        self.mark_due(&BTreeSet::from([id]), give_up_at)
    }

    /// Stores deliveries, each once, and returns the ids of the new ones. The caller then calls `mark_due` for their destinations.
    pub(crate) fn insert(&mut self, rows: &[NewDelivery]) -> QueryResult<HashSet<String>> {
        deliveries::insert(self.db, rows)
    }

    /// Locks destinations, inserts missing ones, and makes them due, at `give_up_at` at the latest. A process that
    /// releases one at the same time sees the deliveries that were stored before.
    pub(crate) fn mark_due(
        &mut self,
        ids: &BTreeSet<String>,
        give_up_at: NaiveDateTime,
    ) -> QueryResult<()> {
        let (state, at) = (if M::ONE_EACH { ACTIVE } else { UNKNOWN }, self.at());
        destinations::mark_due(self.db, M::NAME, ids, state, at, give_up_at)
    }

    /// Locks destinations. All code locks them before their deliveries.
    pub(crate) fn lock(&mut self, ids: &BTreeSet<String>) -> QueryResult<()> {
        destinations::lock(self.db, M::NAME, ids).map(drop)
    }

    pub(crate) fn configure(&mut self, settings: &Settings) -> QueryResult<()> {
        let at = self.at();
        if destinations::configure(self.db, M::NAME, settings, at)? && settings.sealed.is_some() {
            // The previous address asked for the waits.
            deliveries::retry_now(self.db, M::NAME, &settings.id, at)?;
        }
        Ok(())
    }

    /// Whether all deliveries to a removed destination are deleted, including settled ones.
    pub(super) fn deletes_deliveries_to(&self, destination: &DestinationRow) -> bool {
        destination.state == REMOVED && self.medium.policy().reasons.removed.is_none()
    }

    /// Releases destinations until they have something to do again. The destination of a single delivery is deleted with it.
    pub(super) fn release(&mut self, leased: &[DestinationRow]) -> QueryResult<()> {
        let (removed, others): (Vec<_>, Vec<_>) =
            leased.iter().partition(|it| self.deletes_deliveries_to(it));
        let at = self.at();
        for destination in removed {
            destinations::release_until(self.db, M::NAME, &destination.id, Some(at))?;
        }
        destinations::release_all(self.db, M::NAME, &others, at)?;
        if M::ONE_EACH {
            destinations::delete_idle(self.db, M::NAME, &others)?;
        }
        Ok(())
    }

    /// Records the outcomes of attempts at different destinations and releases these. A process that has lost its
    /// lease can record only that the message was delivered; everything else is up to the current owner.
    pub(crate) fn record_outcomes(&mut self, attempts: &[FinishedAttempt<M>]) -> QueryResult<()> {
        let ids = attempts
            .iter()
            .map(|finished| finished.attempt.destination_id.clone());
        let locked = destinations::lock(self.db, M::NAME, &ids.collect())?;
        let mut locked: HashMap<_, _> = locked
            .into_iter()
            .map(|row| (row.id.clone(), row))
            .collect();
        let (mut delivered, mut leased) = (Vec::new(), Vec::new());
        for finished in attempts {
            let FinishedAttempt {
                attempt,
                report,
                owner,
                ..
            } = finished;
            let Some(mut destination) = locked.remove(&attempt.destination_id) else {
                continue;
            };
            let is_owner = destination.lease_owner.as_deref() == Some(&**owner)
                && destination.due_at == Some(attempt.lease_ends);
            if !is_owner && report.outcome != AttemptOutcome::Delivered {
                continue;
            }
            if let AttemptOutcome::Retry {
                maybe_accepted: true,
                ..
            } = report.outcome
            {
                self.counts.possible_duplicates += attempt.deliveries.len();
            }
            let facts = self.facts(attempt, &destination);
            let transition = transition(self.medium.policy(), &facts, &report.outcome);
            match transition.delivery {
                DeliveryTransition::End(FinalState::Delivered, _) => delivered.push(finished),
                change => self.apply(attempt, change, report.reply)?,
            }
            if is_owner {
                self.apply_to(&mut destination, transition.destination)?;
                leased.push(destination);
            }
        }
        self.end_delivered(&delivered)?;
        self.release(&leased)
    }

    /// Ends delivered rows, and reports each message separately.
    fn end_delivered(&mut self, delivered: &[&FinishedAttempt<M>]) -> QueryResult<()> {
        let rows = delivered
            .iter()
            .flat_map(|finished| ids(&finished.attempt.deliveries));
        let steps = self.store_end(&rows.collect::<Vec<_>>(), FinalState::Delivered, None)?;
        for finished in delivered {
            let (rows, reply) = (&finished.attempt.deliveries, finished.report.reply);
            let outcome = DeliveryOutcome::Ended(FinalState::Delivered);
            self.report(rows, &steps, outcome, None, reply)?;
        }
        Ok(())
    }

    fn facts(&self, attempt: &Attempt, destination: &DestinationRow) -> AttemptFacts {
        let tries = attempt.deliveries.iter().map(|row| row.tries);
        AttemptFacts {
            now: self.at(),
            tries: tries.max().unwrap_or_default(),
            give_up_at: attempt.give_up_at(),
            is_digest: attempt.deliveries.len() > 1,
            is_current: destination.revision == attempt.revision && destination.is_active(),
            failures: destination.failures,
            failing_since: destination.failing_since,
        }
    }

    fn apply(
        &mut self,
        attempt: &Attempt,
        change: DeliveryTransition,
        reply: Option<HttpReply>,
    ) -> QueryResult<()> {
        let rows = &attempt.deliveries;
        let (state, at, give_up_at, reason) = match change {
            DeliveryTransition::End(state, reason) => {
                return self.end(rows, state, reason.as_deref(), reply);
            }
            DeliveryTransition::Split(reason) => {
                return deliveries::split(self.db, &ids(rows), self.now.naive_utc(), &reason);
            }
            DeliveryTransition::Requeue(at, reason) => {
                // None for a new message, which may then be composed anew.
                let message = rows.first().and_then(|row| row.message_id.as_deref());
                return deliveries::requeue(self.db, &ids(rows), message, at, reason.as_deref());
            }
            DeliveryTransition::Retry(at, reason) => (PENDING, at, attempt.give_up_at(), reason),
            DeliveryTransition::Lock(at, give_up_at, reason) => (LOCKED, at, give_up_at, reason),
        };
        let update = RetryUpdate {
            state,
            at,
            give_up_at,
            reason: &reason,
        };
        let steps = deliveries::retry(self.db, &ids(rows), &update)?;
        self.counts.retries += 1;
        let outcome = DeliveryOutcome::Retried(at);
        self.report(rows, &steps, outcome, Some(&reason), reply)
    }

    fn apply_to(
        &mut self,
        destination: &mut DestinationRow,
        change: DestinationTransition,
    ) -> QueryResult<()> {
        let mut free_at = self.at() + self.medium.policy().interval;
        match change {
            DestinationTransition::None => {}
            DestinationTransition::Succeed => {
                destination.failures = 0;
                destination.failing_since = None;
            }
            DestinationTransition::Delay(until) => free_at = until,
            DestinationTransition::Fail(until) => {
                destination.failures += 1;
                destination
                    .failing_since
                    .get_or_insert(self.now.naive_utc());
                free_at = free_at.max(until);
            }
            DestinationTransition::Disable(reason) => self.disable(destination, &reason)?,
        }
        destination.free_at = destination.free_at.max(free_at);
        Ok(())
    }

    /// Disables a destination and notifies its owner.
    fn disable(&mut self, destination: &mut DestinationRow, reason: &str) -> QueryResult<()> {
        destinations::disable(self.db, M::NAME, &destination.id, self.now.naive_utc())?;
        DISABLED.clone_into(&mut destination.state);
        destination.sealed = None;
        self.counts.disabled += 1;
        let event = self.medium.report_disabled(destination, reason, self.now)?;
        self.events.extend(event);
        Ok(())
    }

    /// Ends deliveries and reports it, unless they had already ended.
    pub(super) fn end(
        &mut self,
        rows: &[DeliveryRow],
        state: FinalState,
        reason: Option<&str>,
        reply: Option<HttpReply>,
    ) -> QueryResult<()> {
        let steps = self.store_end(&ids(rows), state, reason)?;
        self.report(rows, &steps, DeliveryOutcome::Ended(state), reason, reply)
    }

    /// Ends deliveries and returns the steps of those that had not already ended.
    fn store_end(
        &mut self,
        ids: &[&str],
        state: FinalState,
        reason: Option<&str>,
    ) -> QueryResult<HashMap<String, i64>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let (keep_payload, at) = (self.medium.policy().keeps_payload, self.at());
        let steps = deliveries::record_end(self.db, ids, state, reason, keep_payload, at)?;
        self.counts.ended.push((state, steps.len()));
        Ok(steps)
    }

    /// Reports deliveries that were already ended when they were stored.
    pub(crate) fn report_ended(
        &mut self,
        rows: &[DeliveryRow],
        state: FinalState,
        reason: &str,
    ) -> QueryResult<()> {
        self.counts.ended.push((state, rows.len()));
        let steps = rows.iter().map(|row| (row.id.clone(), row.step)).collect();
        let outcome = DeliveryOutcome::Ended(state);
        self.report(rows, &steps, outcome, Some(reason), None)
    }

    fn report(
        &mut self,
        rows: &[DeliveryRow],
        steps: &HashMap<String, i64>,
        outcome: DeliveryOutcome,
        reason: Option<&str>,
        reply: Option<HttpReply>,
    ) -> QueryResult<()> {
        let changed = rows.iter().filter_map(|row| {
            let step = *steps.get(&row.id)?;
            Some(DeliveryRow {
                step,
                ..row.clone()
            })
        });
        let report = DeliveryReport {
            outcome,
            reason,
            reply,
            at: self.now,
        };
        let changed: Vec<_> = changed.collect();
        self.events.extend(self.medium.report(&changed, &report)?);
        Ok(())
    }
}

fn ids(rows: &[DeliveryRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}
