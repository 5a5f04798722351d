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
const NEWS_LIFE: Duration = Duration::from_secs(3);

/// A circuit breaker for the identity service. Without it, each request would wait for its timeout, and the service would
/// meet all of them when it recovers.
#[derive(Debug)]
pub(super) struct IdentityBreaker {
    state: Mutex<State>,
    open: IntGauge,
    failed: IntCounter,
}

#[derive(Debug, Clone, Copy)]
struct State {
    /// Failures since the last success.
    failures: u32,
    /// The time of the last counted failure.
    last_failure: Instant,
    /// The time of the last success. Failures of requests from before it do not count.
    last_answer: Option<Instant>,
    next_probe: Instant,
}

/// The permission to send one request, with the time at which it was granted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPermit {
    pub(super) asked: Instant,
}

/// What the outcome of a request says about the identity service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It works.
    Success,
    /// It gave no usable response.
    Failed,
    /// Nothing: the cause is this request. A client must not be able to open the circuit for others.
    Nothing,
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
            state: Mutex::new(State {
                failures: 0,
                last_failure: now,
                last_answer: None,
                next_probe: now,
            }),
            open: metrics.register(open)?,
            failed: metrics.register(failed)?,
        })
    }

    /// Whether the circuit refuses a request at present. Permission comes from [`IdentityBreaker::admit`] only.
    pub(super) fn refuses(&self, now: Instant) -> bool {
        let state = self.state();
        state.is_open(now) && now < state.next_probe
    }

    /// Permits a request. While the circuit is open, only one probe per interval is permitted.
    pub(super) fn admit(&self, now: Instant) -> Option<CallPermit> {
        let mut state = self.state();
        if state.is_open(now) {
            if now < state.next_probe {
                return None;
            }
            state.next_probe = now + PROBE_EVERY;
        }
        Some(CallPermit { asked: now })
    }

    /// Records the outcome of a request.
    pub(super) fn learn(&self, question: CallPermit, verdict: Verdict, now: Instant) {
        let mut state = self.state();
        match verdict {
            Verdict::Success => {
                if state.failures >= FAILURES {
                    log::info!("identity service: answers again");
                }
                state.failures = 0;
                state.last_answer = Some(now);
                self.open.set(0);
            }
            Verdict::Failed => {
                self.failed.inc();
                if state
                    .last_answer
                    .is_some_and(|answered| question.asked < answered)
                {
                    return;
                }
                state.fail(now);
                if state.failures == FAILURES {
                    log::warn!("identity service: {FAILURES} requests in a row failed");
                }
                self.open.set(i64::from(state.is_open(now)));
            }
            Verdict::Nothing => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is plain numbers, which a panic cannot leave inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_open(&self, now: Instant) -> bool {
        self.failures >= FAILURES && now.saturating_duration_since(self.last_failure) < NEWS_LIFE
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
                breaker: IdentityBreaker::new(&metrics).expect("two figures"),
                begin: Instant::now(),
            }
        }

        fn at(&self, ms: u32) -> Instant {
            self.begin + MS * ms
        }

        /// Sends a request and records its outcome at once; false if it is refused.
        fn ask(&self, ms: u32, verdict: Verdict) -> bool {
            let now = self.at(ms);
            let admitted = self.breaker.admit(now);
            if let Some(question) = admitted {
                self.breaker.learn(question, verdict, now);
            }
            admitted.is_some()
        }

        fn fail(&self, times: u32) {
            for _ in 0..times {
                assert!(self.ask(0, Verdict::Failed));
            }
        }
    }

    #[test]
    fn only_five_failures_in_a_row_open_the_breaker() {
        let case = Case::new();
        case.fail(4);
        assert!(case.ask(0, Verdict::Success));
        case.fail(4);
        assert!(case.ask(0, Verdict::Nothing), "says nothing either way");
        assert_eq!(case.breaker.open.get(), 0);
        case.fail(1);
        assert_eq!(case.breaker.open.get(), 1);
        assert!(case.breaker.refuses(case.at(0)));
        assert!(!case.ask(0, Verdict::Success));
    }

    #[test]
    fn an_open_breaker_admits_one_probe_per_quarter_second_and_a_success_closes_it() {
        let case = Case::new();
        case.fail(5);
        let mut let_through = Vec::new();
        for ms in 1..1_000 {
            if case.ask(ms, Verdict::Failed) {
                let_through.push(ms);
            }
        }
        assert_eq!(let_through, [250, 500, 750]);
        assert!(case.ask(1_000, Verdict::Success));
        for _ in 0..10 {
            assert!(case.ask(1_000, Verdict::Success));
        }
        assert_eq!(case.breaker.open.get(), 0);
    }

    #[test]
    fn an_inconclusive_result_does_not_close_the_breaker() {
        let case = Case::new();
        case.fail(5);
        assert!(case.ask(250, Verdict::Nothing));
        assert!(!case.ask(251, Verdict::Nothing));
        assert!(case.ask(500, Verdict::Success));
    }

    #[test]
    fn a_failure_of_a_call_older_than_the_last_success_is_ignored() {
        let case = Case::new();
        let old: Vec<_> = (0..10)
            .filter_map(|_| case.breaker.admit(case.at(0)))
            .collect();
        assert!(case.ask(100, Verdict::Success));
        for question in old {
            case.breaker
                .learn(question, Verdict::Failed, case.at(2_000));
        }
        assert!(!case.breaker.refuses(case.at(2_000)));
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
        assert!(case.ask(later, Verdict::Failed));
        assert!(case.breaker.refuses(case.at(later + 249)));
        assert!(!case.breaker.refuses(case.at(later + 250)));
    }
}
