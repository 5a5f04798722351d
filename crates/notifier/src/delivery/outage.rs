//! Outages of the database, as a worker sees them. After one, workers that know outcomes of attempts store them first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::scheduler::SchedulerTimings;

#[derive(Debug, Default)]
pub(crate) struct Outage {
    times: Mutex<OutageTimes>,
    /// The number of outcomes that wait for the database. Meanwhile nothing is leased, because it may be the same deliveries.
    pending_outcomes: AtomicUsize,
}

#[derive(Debug, Default)]
struct OutageTimes {
    since: Option<Instant>,
    answered_at: Option<Instant>,
    /// Until then, no expired lease is taken over.
    grace_until: Option<Instant>,
}

impl Outage {
    /// Records that a database call that started at `began` has failed.
    pub(crate) fn record_failure(&self, began: Instant) {
        let mut times = self.times();
        let began = times.answered_at.map_or(began, |at| at.max(began));
        times.since = Some(times.since.map_or(began, |since| since.min(began)));
    }

    /// Records that the database answers. After a long outage, workers that know outcomes store them first, also
    /// those of other processes.
    pub(crate) fn record_answer(&self, timings: SchedulerTimings) {
        let mut times = self.times();
        let (since, now) = (times.since.take(), Instant::now());
        times.answered_at = Some(now);
        if since.is_some_and(|since| now - since >= timings.outage) {
            times.grace_until = Some(now + timings.grace);
        }
    }

    /// Whether the database has answered any call since `began`.
    pub(crate) fn has_answered_since(&self, began: Instant) -> bool {
        self.times().answered_at.is_some_and(|at| at > began)
    }

    /// Whether nothing may be leased now.
    pub(crate) fn blocks_leasing(&self) -> bool {
        let is_in_grace = self
            .times()
            .grace_until
            .is_some_and(|until| Instant::now() < until);
        is_in_grace || self.pending_outcomes.load(Ordering::SeqCst) > 0
    }

    /// Returns when to look for work, at `poll_at` or later.
    pub(crate) fn not_before(&self, poll_at: Instant) -> Instant {
        let grace_until = self.times().grace_until;
        grace_until.map_or(poll_at, |until| until.max(poll_at))
    }

    fn times(&self) -> MutexGuard<'_, OutageTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An outcome that waits for the database.
pub(crate) struct PendingOutcome<'o>(&'o Outage);

impl<'o> PendingOutcome<'o> {
    pub(crate) fn new(outage: &'o Outage) -> Self {
        outage.pending_outcomes.fetch_add(1, Ordering::SeqCst);
        Self(outage)
    }
}

impl Drop for PendingOutcome<'_> {
    fn drop(&mut self) {
        self.0.pending_outcomes.fetch_sub(1, Ordering::SeqCst);
    }
}
