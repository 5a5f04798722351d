//! Outages of the database, as a worker sees them. After one, workers that know outcomes of attempts store them first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::scheduler::SchedulerTimings;

#[derive(Debug, Default)]
pub(crate) struct Outage {
    times: Mutex<Times>,
    /// The number of outcomes that wait for the database. Meanwhile nothing is leased, because it may be the same deliveries.
    unwritten: AtomicUsize,
}

#[derive(Debug, Default)]
struct Times {
    since: Option<Instant>,
    answered_at: Option<Instant>,
    /// Until then, no expired lease is taken over.
    rest_until: Option<Instant>,
}

impl Outage {
    /// Records that a database call that started at `began` has failed.
    pub(crate) fn failed(&self, began: Instant) {
        let mut times = self.times();
        let began = times.answered_at.map_or(began, |at| at.max(began));
        times.since = Some(times.since.map_or(began, |since| since.min(began)));
    }

    /// Records that the database answers. After a long outage, workers that know outcomes store them first, also
    /// those of other processes.
    pub(crate) fn answered(&self, pace: SchedulerTimings) {
        let mut times = self.times();
        let (since, now) = (times.since.take(), Instant::now());
        times.answered_at = Some(now);
        if since.is_some_and(|since| now - since >= pace.outage) {
            times.rest_until = Some(now + pace.grace);
        }
    }

    /// Whether the database has answered any call since `began`.
    pub(crate) fn answered_since(&self, began: Instant) -> bool {
        self.times().answered_at.is_some_and(|at| at > began)
    }

    /// Whether nothing may be leased now.
    pub(crate) fn holds(&self) -> bool {
        let rests = self
            .times()
            .rest_until
            .is_some_and(|until| Instant::now() < until);
        rests || self.unwritten.load(Ordering::SeqCst) > 0
    }

    /// Returns when to look for work, at `look_at` or later.
    pub(crate) fn not_before(&self, look_at: Instant) -> Instant {
        let rest_until = self.times().rest_until;
        rest_until.map_or(look_at, |until| until.max(look_at))
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An outcome that waits for the database.
pub(crate) struct Unwritten<'o>(&'o Outage);

impl<'o> Unwritten<'o> {
    pub(crate) fn new(outage: &'o Outage) -> Self {
        outage.unwritten.fetch_add(1, Ordering::SeqCst);
        Self(outage)
    }
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        self.0.unwritten.fetch_sub(1, Ordering::SeqCst);
    }
}
