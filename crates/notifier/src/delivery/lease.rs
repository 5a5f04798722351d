//! Leases destinations: finds the due ones, ends deliveries that need no attempt, and selects the next message.

use std::collections::BTreeMap;

use diesel::QueryResult;

use super::medium::Medium;
use super::model::{Attempt, DISABLED, DeliveryRow, DestinationRow, REMOVED};
use super::queries::{deliveries, destinations};
use super::state_machine::FinalState;
use super::transaction::DeliveryTransaction;

/// How many deliveries of a destination are ended or deleted in one transaction.
const SLICE: i64 = 100;

impl<M: Medium> DeliveryTransaction<'_, M> {
    /// Leases up to `limit` due destinations, each for its next message.
    pub(crate) fn lease(&mut self, limit: i64, owner: &str) -> QueryResult<Vec<Attempt>> {
        let due = destinations::list_due(self.db, M::NAME, self.at(), limit)?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let due_ids: Vec<&str> = due.iter().map(|row| row.id.as_str()).collect();
        let expired = deliveries::list_with_expired(self.db, M::NAME, &due_ids, self.at())?;
        for destination in due.iter().filter(|row| row.lease_owner.is_some()) {
            // The process that held the lease died, perhaps after the receiver had answered.
            let reopened = deliveries::reopen_abandoned(self.db, M::NAME, &destination.id)?;
            self.counts.possible_duplicates += reopened;
        }
        let (at, digest) = (self.at(), self.medium.policy().digest);
        let free = due
            .iter()
            .filter(|row| row.is_active() && row.free_at <= at);
        let mut ready = deliveries::list_ready(self.db, M::NAME, free, at, digest)?;
        let mut attempts = Vec::new();
        for destination in due {
            let has_expired = expired.contains(&destination.id);
            let ready = ready.remove(&destination.id).unwrap_or_default();
            attempts.extend(self.next_attempt(destination, has_expired, ready)?);
        }
        self.start_attempts(&attempts, owner)?;
        Ok(attempts)
    }

    /// Leases the destinations of these attempts, and marks the deliveries as being sent.
    fn start_attempts(&mut self, attempts: &[Attempt], owner: &str) -> QueryResult<()> {
        if attempts.is_empty() {
            return Ok(());
        }
        let leased: Vec<&str> = attempts
            .iter()
            .map(|attempt| attempt.destination_id.as_str())
            .collect();
        let lease_ends = self.at() + self.medium.policy().lease;
        destinations::lease(self.db, M::NAME, &leased, owner, lease_ends)?;
        deliveries::record_start(self.db, attempts)
    }

    /// Ends deliveries that need no attempt. Then returns the next message, or releases the destination.
    fn next_attempt(
        &mut self,
        destination: DestinationRow,
        has_expired: bool,
        ready: Vec<DeliveryRow>,
    ) -> QueryResult<Option<Attempt>> {
        if self.deletes_deliveries_to(&destination) {
            return self.delete(&destination).map(|()| None);
        }
        let reasons = self.medium.policy().reasons;
        let skipped = match destination.state.as_str() {
            REMOVED => reasons.removed,
            DISABLED => Some(reasons.disabled),
            _ => None,
        };
        if has_expired {
            self.fail_expired(&destination)?;
        }
        if let Some(reason) = skipped {
            self.skip(&destination, reason)?;
        }
        let message = self.next_message(&destination, ready)?;
        let Some((message_id, rows)) = message else {
            return self.release(&[destination]).map(|()| None);
        };
        let started = |row: DeliveryRow| DeliveryRow {
            attempts: row.attempts + 1,
            tries: row.tries + 1,
            ..row
        };
        Ok(Some(Attempt {
            destination_id: destination.id,
            revision: destination.revision,
            sealed: destination.sealed,
            message_id,
            deliveries: rows.into_iter().map(started).collect(),
            lease_ends: self.at() + self.medium.policy().lease,
        }))
    }

    /// Deletes deliveries to a removed destination, a slice at a time.
    fn delete(&mut self, destination: &DestinationRow) -> QueryResult<()> {
        let deleted = deliveries::delete_webhook_calls(self.db, &destination.id, SLICE)?;
        let due = (i64::try_from(deleted) == Ok(SLICE)).then(|| self.at());
        destinations::release_until(self.db, M::NAME, &destination.id, due)
    }

    /// Skips deliveries to an inactive destination, a slice at a time.
    fn skip(&mut self, destination: &DestinationRow, reason: &str) -> QueryResult<()> {
        let rows = deliveries::list_open(self.db, M::NAME, destination, SLICE)?;
        self.end(&rows, FinalState::Skipped, Some(reason), None)
    }

    /// Fails expired deliveries. Those that were never attempted get a reason.
    fn fail_expired(&mut self, destination: &DestinationRow) -> QueryResult<()> {
        let at = self.at();
        let reasons = self.medium.policy().reasons;
        let is_delayed = destination.is_active() && destination.free_at > at;
        let untried = if is_delayed {
            reasons.retry_after
        } else {
            reasons.unknown
        };
        let mut expired: BTreeMap<String, Vec<DeliveryRow>> = BTreeMap::new();
        for row in deliveries::list_expired(self.db, M::NAME, &destination.id, at, SLICE)? {
            let reason = row.reason.clone().unwrap_or_else(|| untried.to_owned());
            expired.entry(reason).or_default().push(row);
        }
        for (reason, rows) in expired {
            self.end(&rows, FinalState::Failed, Some(&reason), None)?;
        }
        Ok(())
    }

    /// Returns the next message: one that was sent before, unchanged, or else a new one of due deliveries.
    fn next_message(
        &mut self,
        destination: &DestinationRow,
        ready: Vec<DeliveryRow>,
    ) -> QueryResult<Option<(String, Vec<DeliveryRow>)>> {
        let Some(first) = ready.first() else {
            return Ok(None);
        };
        if let Some(sent) = first.message_id.clone() {
            let rows = deliveries::list_message(self.db, M::NAME, &destination.id, &sent)?;
            return Ok(Some((sent, rows)));
        }
        let rows = self.medium.compose(ready);
        let first = rows.first().map(|row| row.id.clone()).unwrap_or_default();
        let message_id = match rows.len() {
            // Not the id of the first delivery, which is sent with its own id if the digest is refused.
            several @ 2.. => format!("{first}.{several}"),
            _ => first,
        };
        Ok(Some((message_id, rows)))
    }
}
