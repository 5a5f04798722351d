//! What a worker knows of an outage of the database. Afterwards those who already know what came of their jobs go first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::scheduler::Pace;

#[derive(Debug, Default)]
pub(crate) struct Outage {
    times: Mutex<Times>,
    /// Outcomes that wait for the database. Nothing is taken meanwhile: it may be what they are of.
    unwritten: AtomicUsize,
}

#[derive(Debug, Default)]
struct Times {
    since: Option<Instant>,
    answered_at: Option<Instant>,
    /// Until then no expired lease is taken over.
    rest_until: Option<Instant>,
}

impl Outage {
    /// Notes that what began then failed.
    pub(crate) fn failed(&self, began: Instant) {
        let mut times = self.times();
        let began = times.answered_at.map_or(began, |at| at.max(began));
        times.since = Some(times.since.map_or(began, |since| since.min(began)));
    }

    /// Notes that the database answers. After a long time away those who know what came of their jobs come first, also
    /// those of other processes.
    pub(crate) fn answered(&self, pace: Pace) {
        let mut times = self.times();
        let (since, now) = (times.since.take(), Instant::now());
        times.answered_at = Some(now);
        if since.is_some_and(|since| now - since >= pace.outage) {
            times.rest_until = Some(now + pace.grace);
        }
    }

    /// Whether it has answered somebody since then.
    pub(crate) fn answered_since(&self, began: Instant) -> bool {
        self.times().answered_at.is_some_and(|at| at > began)
    }

    /// Whether nothing is to be taken now.
    pub(crate) fn holds(&self) -> bool {
        let rests = self
            .times()
            .rest_until
            .is_some_and(|until| Instant::now() < until);
        rests || self.unwritten.load(Ordering::SeqCst) > 0
    }

    /// When to look, if it was to be at this time.
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
