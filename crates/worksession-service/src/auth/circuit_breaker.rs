use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prometheus::{IntCounter, IntGauge};
use service_kit::metrics::Metrics;

/// Consecutive failures after which the circuit opens.
const FAILURES: u32 = 5;
/// The interval between probes while the circuit is open.
const PROBE_EVERY: Duration = Duration::from_millis(250);
/// Failures older than this no longer keep the circuit open. The first request after a quiet night must not be refused
/// because of an outage in the evening. It is longer than any request takes.
const FAILURE_LIFE: Duration = Duration::from_secs(3);

/// A circuit breaker for the identity service. Without it, each request would wait for its timeout, and the service would
/// meet all of them when it recovers.
#[derive(Debug)]
pub(super) struct IdentityBreaker {
    state: Mutex<BreakerState>,
    open: IntGauge,
    failed: IntCounter,
}

#[derive(Debug, Clone, Copy)]
struct BreakerState {
    /// Failures since the last success.
    failures: u32,
    /// The time of the last counted failure.
    last_failure: Instant,
    /// The time of the last success. Failures of requests from before it do not count.
    last_success: Option<Instant>,
    next_probe: Instant,
}

/// The permission to send one request, with the time at which it was granted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPermit {
    pub(super) granted_at: Instant,
}

/// The outcome of a request, as far as it concerns the identity service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// It works.
    Success,
    /// It gave no usable response.
    Failed,
    /// The cause is this request. A client must not be able to open the circuit for others.
    Unknown,
}

impl IdentityBreaker {
    /// Creates a closed breaker and registers its metrics.
    pub(super) fn new(metrics: &Metrics) -> Result<Self, prometheus::Error> {
        let open = IntGauge::new(
            "identity_circuit_open",
            "Whether requests are refused because the identity service has not answered",
        )?;
        let failed = IntCounter::new(
            "identity_failures_total",
            "Requests that the identity service did not answer, or answered with an error",
        )?;
        let now = Instant::now();
        Ok(Self {
            state: Mutex::new(BreakerState {
                failures: 0,
                last_failure: now,
                last_success: None,
                next_probe: now,
            }),
            open: metrics.register(open)?,
            failed: metrics.register(failed)?,
        })
    }

    /// Whether the circuit refuses a request at present. Permission comes from [`IdentityBreaker::admit`] only.
    pub(super) fn is_refusing(&self, now: Instant) -> bool {
        let state = self.lock();
        state.is_open(now) && now < state.next_probe
    }

    /// Permits a request. While the circuit is open, only one probe per interval is permitted.
    pub(super) fn admit(&self, now: Instant) -> Option<CallPermit> {
        let mut state = self.lock();
        if state.is_open(now) {
            if now < state.next_probe {
                return None;
            }
            state.next_probe = now + PROBE_EVERY;
        }
        Some(CallPermit { granted_at: now })
    }

    /// Records the outcome of a request.
    pub(super) fn record_outcome(&self, permit: CallPermit, outcome: CallOutcome, now: Instant) {
        let mut state = self.lock();
        match outcome {
            CallOutcome::Success => {
                if state.failures >= FAILURES {
                    log::info!("identity service: answers again");
                }
                state.failures = 0;
                state.last_success = Some(now);
                self.open.set(0);
            }
            CallOutcome::Failed => {
                self.failed.inc();
                if state
                    .last_success
                    .is_some_and(|success| permit.granted_at < success)
                {
                    return;
                }
                state.fail(now);
                if state.failures == FAILURES {
                    log::warn!("identity service: {FAILURES} requests in a row failed");
                }
                self.open.set(i64::from(state.is_open(now)));
            }
            CallOutcome::Unknown => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BreakerState> {
        // The state is plain numbers, which a panic cannot leave inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerState {
    fn is_open(&self, now: Instant) -> bool {
        self.failures >= FAILURES && now.saturating_duration_since(self.last_failure) < FAILURE_LIFE
    }

    fn fail(&mut self, now: Instant) {
        if !self.is_open(now) {
            self.next_probe = now + PROBE_EVERY;
        }
        self.failures = self.failures.saturating_add(1);
        self.last_failure = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    struct Case {
        breaker: IdentityBreaker,
        begin: Instant,
    }

    impl Case {
        fn new() -> Self {
            let metrics = Metrics::new().expect("a registry");
            Self {
                breaker: IdentityBreaker::new(&metrics).expect("two metrics"),
                begin: Instant::now(),
            }
        }

        fn at(&self, ms: u32) -> Instant {
            self.begin + MS * ms
        }

        /// Sends a request and records its outcome at once; false if it is refused.
        fn call(&self, ms: u32, outcome: CallOutcome) -> bool {
            let now = self.at(ms);
            let admitted = self.breaker.admit(now);
            if let Some(permit) = admitted {
                self.breaker.record_outcome(permit, outcome, now);
            }
            admitted.is_some()
        }

        fn fail(&self, times: u32) {
            for _ in 0..times {
                assert!(self.call(0, CallOutcome::Failed));
            }
        }
    }

    #[test]
    fn only_five_failures_in_a_row_open_the_breaker() {
        let case = Case::new();
        case.fail(4);
        assert!(case.call(0, CallOutcome::Success));
        case.fail(4);
        assert!(case.call(0, CallOutcome::Unknown), "inconclusive");
        assert_eq!(case.breaker.open.get(), 0);
        case.fail(1);
        assert_eq!(case.breaker.open.get(), 1);
        assert!(case.breaker.is_refusing(case.at(0)));
        assert!(!case.call(0, CallOutcome::Success));
    }

    #[test]
    fn an_open_breaker_admits_one_probe_per_quarter_second_and_a_success_closes_it() {
        let case = Case::new();
        case.fail(5);
        let mut admitted = Vec::new();
        for ms in 1..1_000 {
            if case.call(ms, CallOutcome::Failed) {
                admitted.push(ms);
            }
        }
        assert_eq!(admitted, [250, 500, 750]);
        assert!(case.call(1_000, CallOutcome::Success));
        for _ in 0..10 {
            assert!(case.call(1_000, CallOutcome::Success));
        }
        assert_eq!(case.breaker.open.get(), 0);
    }

    #[test]
    fn an_inconclusive_result_does_not_close_the_breaker() {
        let case = Case::new();
        case.fail(5);
        assert!(case.call(250, CallOutcome::Unknown));
        assert!(!case.call(251, CallOutcome::Unknown));
        assert!(case.call(500, CallOutcome::Success));
    }

    #[test]
    fn a_failure_of_a_call_older_than_the_last_success_is_ignored() {
        let case = Case::new();
        let old: Vec<_> = (0..10)
            .filter_map(|_| case.breaker.admit(case.at(0)))
            .collect();
        assert!(case.call(100, CallOutcome::Success));
        for permit in old {
            case.breaker
                .record_outcome(permit, CallOutcome::Failed, case.at(2_000));
        }
        assert!(!case.breaker.is_refusing(case.at(2_000)));
        assert_eq!(case.breaker.failed.get(), 10);
    }

    #[test]
    fn after_a_quiet_time_the_breaker_admits_all_and_one_failure_reopens_it() {
        let case = Case::new();
        case.fail(5);
        let later = 3_000;
        let crowd: Vec<_> = (0..3)
            .filter_map(|_| case.breaker.admit(case.at(later)))
            .collect();
        assert_eq!(crowd.len(), 3);
        assert!(case.call(later, CallOutcome::Failed));
        assert!(case.breaker.is_refusing(case.at(later + 249)));
        assert!(!case.breaker.is_refusing(case.at(later + 250)));
    }
}
