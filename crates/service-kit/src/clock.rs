use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, NaiveDateTime, SubsecRound, TimeDelta, Utc};

/// The only clock the product trusts: passed in, so that tests move it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(ManualClock),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands at `start` until its second half moves it.
    #[must_use]
    pub fn manual(start: DateTime<Utc>) -> (Self, ManualClock) {
        let hand = ManualClock(Arc::new(AtomicI64::new(start.timestamp_micros())));
        (Self(Source::Manual(hand.clone())), hand)
    }

    /// Now, in whole microseconds: what survives both databases.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            #[expect(
                clippy::disallowed_methods,
                reason = "the one place that reads the machine's clock"
            )]
            Source::System => Utc::now().trunc_subsecs(6),
            Source::Manual(hand) => hand.now(),
        }
    }

    /// [`Clock::now`] as the databases store it.
    #[must_use]
    pub fn now_naive(&self) -> NaiveDateTime {
        self.now().naive_utc()
    }
}

/// Moves a manual [`Clock`].
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Moves the clock by `delta`, which may be negative.
    pub fn advance(&self, delta: TimeDelta) {
        self.0
            .fetch_add(delta.num_microseconds().unwrap_or(0), Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, now: DateTime<Utc>) {
        self.0.store(now.timestamp_micros(), Ordering::SeqCst);
    }

    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0.load(Ordering::SeqCst))
            .unwrap_or(DateTime::UNIX_EPOCH)
    }
}
