#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};

use diesel::result::Error;
use tokio::sync::mpsc;

use super::*;

/// A thousandth of the usual times.
const FAST: SchedulerTimings = SchedulerTimings {
    write: Duration::from_millis(1),
    answer: Duration::from_millis(100),
    refused: Duration::from_secs(1),
    stop: Duration::from_millis(15),
    outage: Duration::from_millis(10),
    grace: Duration::from_millis(200),
};

/// Jobs, and a database that fails a given number of times.
#[derive(Clone)]
struct Jobs(Arc<State>);

struct State {
    /// The number of queries that fail before there are any jobs.
    unavailable: AtomicU32,
    /// The number of attempts to store an outcome that fail, and how.
    failing_records: AtomicU32,
    failure: Failure,
    jobs: AtomicU32,
    events: mpsc::UnboundedSender<Event>,
}

type Event = (&'static str, Instant);

#[derive(Clone, Copy, PartialEq)]
enum Failure {
    Unavailable,
    /// It never answers.
    Silent,
    /// It will never accept the outcome.
    Lasting,
    /// It answers, and refuses the outcome for now.
    Refused,
}

impl Jobs {
    fn record_event(&self, event: &'static str) {
        self.0.events.send((event, Instant::now())).unwrap();
    }
}

fn take_failure(counter: &AtomicU32) -> bool {
    let less = |left: u32| left.checked_sub(1);
    counter
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

impl JobQueue for Jobs {
    type Job = ();
    type Outcome = ();
    type Connection = ();

    const NAME: &'static str = "tests";

    fn capacity(&self, running: usize) -> usize {
        2_usize.saturating_sub(running)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        if take_failure(&self.0.unavailable) {
            self.record_event("unavailable");
            return Err(DbError::Busy);
        }
        let left = self.0.jobs.load(Ordering::SeqCst) > 0;
        Ok(left.then_some(Duration::ZERO))
    }

    async fn lease(&self, _: i64) -> Result<Vec<()>, DbError> {
        self.0.jobs.fetch_sub(1, Ordering::SeqCst);
        self.record_event("leased");
        Ok(vec![()])
    }

    async fn run(&self, (): &mut (), (): &(), _: &ShutdownSignal) {}

    async fn record(&self, (): &(), (): &()) -> Result<(), DbError> {
        if !take_failure(&self.0.failing_records) {
            self.record_event("written");
            return Ok(());
        }
        self.record_event("not written");
        match self.0.failure {
            Failure::Unavailable => Err(DbError::Unreachable("unavailable".to_owned())),
            Failure::Silent => std::future::pending().await,
            Failure::Refused => Err(DbError::from(Error::RollbackTransaction)),
            Failure::Lasting => {
                let cause = Box::new(std::io::Error::other("unlucky"));
                Err(DbError::from(Error::SerializationError(cause)))
            }
        }
    }

    fn keeps_connection(&self) -> bool {
        false
    }

    async fn close(&self, (): ()) {}

    async fn housekeep(&self) -> Result<(), DbError> {
        Ok(())
    }
}

/// A worker with two jobs, and its events.
struct Stage {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Stage {
    fn set(unavailable: u32, failing_records: u32, failure: Failure) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let state = State {
            unavailable: unavailable.into(),
            failing_records: failing_records.into(),
            failure,
            jobs: 2.into(),
            events: sender,
        };
        let (stop, stopping) = watch::channel(false);
        let worker = Worker {
            work: Jobs(Arc::new(state)),
            stopping: ShutdownSignal(stopping),
            timings: FAST,
            outage: Arc::default(),
        };
        let task = tokio::spawn(worker.run(Arc::new(Notify::new())));
        Self { stop, task, events }
    }

    /// Returns all events up to and including `last`.
    async fn until(&mut self, last: &str) -> Vec<Event> {
        let mut seen = Vec::new();
        let all = async {
            while seen.last().is_none_or(|(event, _)| *event != last) {
                seen.push(self.events.recv().await.unwrap());
            }
        };
        timeout(Duration::from_secs(20), all).await.unwrap();
        seen
    }
}

fn count(seen: &[Event], what: &str) -> usize {
    seen.iter().filter(|(event, _)| *event == what).count()
}

#[tokio::test]
async fn an_outcome_is_recorded_after_any_outage_and_nothing_is_leased_before() {
    let mut stage = Stage::set(0, 200, Failure::Unavailable);
    let seen = stage.until("written").await;
    assert_eq!(
        (count(&seen, "leased"), count(&seen, "not written")),
        (1, 200)
    );
    stage.until("leased").await;
}

#[tokio::test]
async fn a_silent_database_is_asked_again() {
    let mut stage = Stage::set(0, 2, Failure::Silent);
    let mut seen = stage.until("written").await;
    seen.extend(stage.until("written").await);
    assert_eq!(count(&seen, "not written"), 2);
}

#[tokio::test]
async fn an_outcome_that_the_database_never_accepts_is_dropped() {
    let mut stage = Stage::set(0, u32::MAX, Failure::Lasting);
    let tries = usize::try_from(2 * MAX_PERMANENT_FAILURES).unwrap();
    let mut seen = Vec::new();
    while count(&seen, "not written") < tries {
        seen.extend(stage.until("not written").await);
    }
    stage.stop.send(true).unwrap();
    stage.task.await.unwrap();
    assert_eq!(count(&seen, "leased"), 2);
    assert_eq!(stage.events.recv().await, None);
}

#[tokio::test]
async fn a_refused_outcome_delays_new_leases_for_a_limited_time() {
    let mut stage = Stage::set(0, u32::MAX, Failure::Refused);
    stage.until("leased").await;
    let seen = stage.until("leased").await;
    let [(first, from), .., (_, to)] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!(*first, "not written");
    assert!(*to - *from >= FAST.refused, "{:?}", *to - *from);
}

#[tokio::test]
async fn an_unrecorded_outcome_does_not_prevent_a_stop() {
    let mut stage = Stage::set(0, u32::MAX, Failure::Unavailable);
    stage.until("not written").await;
    stage.stop.send(true).unwrap();
    let stopped = timeout(Duration::from_secs(20), stage.task).await;
    stopped.unwrap().unwrap();
}

#[tokio::test]
async fn after_a_long_outage_leasing_waits_until_others_have_recorded_their_outcomes() {
    // After a failed query, the next one follows a second later.
    let mut stage = Stage::set(2, 0, Failure::Unavailable);
    let seen = stage.until("leased").await;
    let [.., (unavailable, last), (leased, at)] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!((*unavailable, *leased), ("unavailable", "leased"));
    // The successful query a second later, and then the grace period.
    assert!(*at >= *last + POLL_EVERY + FAST.grace);
}
