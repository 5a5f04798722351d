use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use service_kit::Clock;
use tokio::sync::Notify;

use crate::delivery::destination_wait;

/// The circuit breaker of the mail server, for this process. While the server is unavailable, no mail is sent. Then
/// one mail is tried, and after it succeeds, all others. Cheap to clone.
#[derive(Clone)]
pub(super) struct MailServerBreaker {
    state: Arc<Mutex<State>>,
    clock: Clock,
    /// Signalled when the server is available again.
    wake: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// Consecutive failures.
    failures: i64,
    open_until: Option<DateTime<Utc>>,
    /// Counts failures, so that mails that meet the same one count as one.
    epoch: u64,
}

/// The number of failures before an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct BreakerEpoch(u64);

impl MailServerBreaker {
    pub(super) fn new(clock: Clock, wake: Arc<Notify>) -> Self {
        Self {
            state: Arc::default(),
            clock,
            wake,
        }
    }

    /// Whether the server's last response was a good one.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().failures == 0
    }

    /// Returns how long no mail may be sent.
    pub(super) fn blocked_for(&self) -> Duration {
        let until = self.lock().open_until;
        until.map_or(Duration::ZERO, |until| {
            (until - self.clock.now()).to_std().unwrap_or_default()
        })
    }

    pub(super) fn epoch(&self) -> BreakerEpoch {
        BreakerEpoch(self.lock().epoch)
    }

    /// Records that the server was not usable. Returns whether this is the first report of the failure.
    pub(super) fn record_failure(&self, epoch: BreakerEpoch) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        if state.epoch != epoch.0 {
            return false;
        }
        state.epoch += 1;
        state.failures += 1;
        state.open_until = Some(now + destination_wait(state.failures));
        true
    }

    /// Records that the server answered.
    pub(super) fn record_success(&self) {
        let mut state = self.lock();
        state.open_until = None;
        if std::mem::take(&mut state.failures) > 0 {
            log::info!("mails are sent again");
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn a_failing_mail_server_is_left_alone_for_longer_and_longer() {
        let (clock, manual) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
        let breaker = MailServerBreaker::new(clock, Arc::default());
        assert!(breaker.is_closed());
        for seconds in [2, 5, 10, 20, 30, 60, 60] {
            let epoch = breaker.epoch();
            assert!(breaker.record_failure(epoch));
            assert!(!breaker.record_failure(epoch), "the others met it too");
            assert_eq!(breaker.blocked_for().as_secs(), seconds);
            manual.advance(TimeDelta::seconds(seconds.try_into().unwrap()));
            assert_eq!(breaker.blocked_for(), Duration::ZERO);
            assert!(!breaker.is_closed(), "one at a time until it succeeds");
        }
        breaker.record_success();
        assert!(breaker.is_closed());
    }
}
