use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, NaiveDateTime, SubsecRound, TimeDelta, Utc};

/// The only clock of the product. It is passed in, so that tests can move it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(ManualClock),
}

impl Clock {
    /// Returns the machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// Returns a clock that stands at `start`, and the handle that moves it.
    #[must_use]
    pub fn manual(start: DateTime<Utc>) -> (Self, ManualClock) {
        let manual = ManualClock(Arc::new(AtomicI64::new(start.timestamp_micros())));
        (Self(Source::Manual(manual.clone())), manual)
    }

    /// Returns the current time in whole microseconds, the precision that both databases keep.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            #[expect(
                clippy::disallowed_methods,
                reason = "the one place that reads the machine's clock"
            )]
            Source::System => Utc::now().trunc_subsecs(6),
            Source::Manual(manual) => manual.now(),
        }
    }

    /// Returns [`Clock::now`] in the form that the databases store.
    #[must_use]
    pub fn now_naive(&self) -> NaiveDateTime {
        self.now().naive_utc()
    }
}

/// The handle of a manual [`Clock`].
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Moves the clock by `delta`, which may be negative.
    pub fn advance(&self, delta: TimeDelta) {
        self.0
            .fetch_add(delta.num_microseconds().unwrap_or(0), Ordering::SeqCst);
    }

    /// Sets the clock to `now`.
    pub fn set(&self, now: DateTime<Utc>) {
        self.0.store(now.timestamp_micros(), Ordering::SeqCst);
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0.load(Ordering::SeqCst))
            .unwrap_or(DateTime::UNIX_EPOCH)
    }
}
