use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use event_types::IntegrationConfigured;
use uuid::Uuid;

use super::model::{DeliveryRow, Ending, Kind, NewDelivery, PENDING};
use super::moves::Moves;
use super::queries;
use crate::config::ChatConfig;

/// After this nobody waits for a test any more.
const TEST_GIVEN_UP_AFTER: Duration = Duration::from_secs(60);

/// How long the end of a session waits for a plan that is not here: events pass each other on their way, by
/// the lease of a relay that died at most. A plan that was set aside is not waited for longer.
const PLAN_MAY_BE_LATE: Duration = Duration::from_secs(120);

/// An event that a chat has to do with.
#[derive(Clone)]
pub(super) struct Arrival {
    /// The event's.
    pub(super) id: Uuid,
    pub(super) request_id: Option<String>,
    pub(super) word: Word,
}

/// What an event asks of the notifier.
#[derive(Clone)]
pub(super) enum Word {
    /// Something to be told.
    Notice(Notice),
    /// Where a project's chat is.
    Destination(IntegrationConfigured),
}

/// What a team is to be told.
#[derive(Clone)]
pub(super) struct Notice {
    pub(super) kind: Kind,
    /// Of a test its own id.
    pub(super) session_id: Uuid,
    pub(super) project_id: i64,
    /// The chat's revision when it happened.
    pub(super) revision: i64,
    /// Why nobody is told; the team sees that.
    pub(super) skipped: Option<&'static str>,
    /// The event's data.
    pub(super) payload: Arc<str>,
}

impl Moves<'_> {
    /// Writes down what came, each event once however often it comes: a notice's row stays as long as any event may come
    /// again, and of what a hook's row says the newest holds.
    pub(super) fn take_in(
        &mut self,
        arrivals: Vec<Arrival>,
        config: ChatConfig,
    ) -> QueryResult<()> {
        let at = self.now.naive_utc();
        // In the order of their ids: two processes that take the same events in then wait for each other, no more.
        let by_id = |arrival: Arrival| (arrival.id, arrival);
        let arrivals: BTreeMap<Uuid, Arrival> = arrivals.into_iter().map(by_id).collect();
        let (mut notices, mut destinations) = (Vec::new(), Vec::new());
        for arrival in arrivals.into_values() {
            match arrival.word {
                Word::Notice(notice) => {
                    notices.push(delivery(arrival.id, arrival.request_id, notice, at, config));
                }
                Word::Destination(destination) => destinations.push(destination),
            }
        }
        let told = notices
            .iter()
            .filter(|row| row.settled_at.is_none())
            .map(|row| row.project_id);
        let configured = destinations
            .iter()
            .map(|destination| destination.project_id);
        let projects: BTreeSet<i64> = told.chain(configured).collect();
        let give_ups = notices.iter().map(|row| row.give_up_at);
        self.expect(&projects, give_ups.min().unwrap_or(at))?;
        // In the order in which all who wait for several hooks lock them.
        destinations.sort_by_key(|destination| (destination.project_id, destination.revision));
        for destination in &destinations {
            queries::configure(self.db, destination, at)?;
        }
        self.write_down(notices)
    }

    /// Has hooks looked at, at `give_up_at` at the latest.
    pub(super) fn expect(
        &mut self,
        projects: &BTreeSet<i64>,
        give_up_at: NaiveDateTime,
    ) -> QueryResult<()> {
        let at = self.now.naive_utc();
        for project in queries::expect_all(self.db, projects, at, give_up_at)? {
            let earliest = self.tally.expected.entry(project).or_insert(give_up_at);
            *earliest = give_up_at.min(*earliest);
        }
        Ok(())
    }

    /// Plans before ends, so that those who wait for each other meet, in whatever order they came.
    fn write_down(&mut self, notices: Vec<NewDelivery>) -> QueryResult<()> {
        let at = self.now.naive_utc();
        let (mut ends, others): (Vec<_>, Vec<_>) =
            notices.into_iter().partition(|row| is(row, Kind::is_end));
        let new = queries::insert_deliveries(self.db, &others)?;
        let sessions = |rows: &[NewDelivery]| -> Vec<String> {
            rows.iter().map(|row| row.session_id.clone()).collect()
        };
        if !ends.is_empty() {
            let planned = queries::plans_among(self.db, &sessions(&ends))?;
            for row in ends
                .iter_mut()
                .filter(|row| !planned.contains(&row.session_id))
            {
                row.next_attempt_at = at + PLAN_MAY_BE_LATE;
            }
            queries::insert_deliveries(self.db, &ends)?;
        }
        let plans: Vec<NewDelivery> = others
            .into_iter()
            .filter(|row| new.contains(&row.event_id) && is(row, |kind| kind == Kind::Plan))
            .collect();
        // A hook whose chat is told of ends alone was to be looked at when they would have waited long enough.
        self.release_ends(&plans.iter().collect::<Vec<_>>())?;
        self.tell_skipped(plans)
    }

    /// Tells of the plans that nobody is told.
    fn tell_skipped(&mut self, plans: Vec<NewDelivery>) -> QueryResult<()> {
        let mut skipped: BTreeMap<String, Vec<DeliveryRow>> = BTreeMap::new();
        for row in plans {
            if let Some(reason) = row.reason.clone() {
                skipped.entry(reason).or_default().push((&row).into());
            }
        }
        for (reason, rows) in skipped {
            self.tell(rows.iter(), Ending::Skipped, &reason)?;
        }
        Ok(())
    }
}

/// The row of a notice.
fn delivery(
    id: Uuid,
    request_id: Option<String>,
    notice: Notice,
    at: NaiveDateTime,
    config: ChatConfig,
) -> NewDelivery {
    let give_up_after = match notice.kind {
        Kind::Test => TEST_GIVEN_UP_AFTER,
        Kind::Plan | Kind::Finished | Kind::Abandoned => config.give_up_after(),
    };
    let is_told = notice.skipped.is_none();
    NewDelivery {
        event_id: id.to_string(),
        session_id: notice.session_id.to_string(),
        project_id: notice.project_id,
        revision: notice.revision,
        request_id,
        payload: Some(notice.payload).filter(|_| is_told),
        state: if is_told {
            PENDING
        } else {
            Ending::Skipped.name()
        },
        attempts: 0,
        next_attempt_at: at,
        give_up_at: at + give_up_after,
        reason: notice.skipped.map(str::to_owned),
        created_at: at,
        settled_at: Some(at).filter(|_| !is_told),
        kind: notice.kind.name(),
    }
}

fn is(row: &NewDelivery, wanted: impl Fn(Kind) -> bool) -> bool {
    wanted(Kind::of(row.kind))
}

impl From<&NewDelivery> for DeliveryRow {
    fn from(row: &NewDelivery) -> Self {
        Self {
            event_id: row.event_id.clone(),
            session_id: row.session_id.clone(),
            project_id: row.project_id,
            request_id: row.request_id.clone(),
            payload: row.payload.as_deref().map(str::to_owned),
            attempts: row.attempts,
            give_up_at: row.give_up_at,
            reason: row.reason.clone(),
            kind: row.kind.to_owned(),
            batch_id: None,
        }
    }
}
