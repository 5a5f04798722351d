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
    away: AtomicU32,
    /// The number of attempts to store an outcome that fail, and how.
    unwritten: AtomicU32,
    how: How,
    jobs: AtomicU32,
    events: mpsc::UnboundedSender<Event>,
}

type Event = (&'static str, Instant);

#[derive(Clone, Copy, PartialEq)]
enum How {
    Away,
    /// It never answers.
    Silent,
    /// It will never accept the outcome.
    Lasting,
    /// It answers, and refuses the outcome for now.
    Refused,
}

impl Jobs {
    fn tell(&self, event: &'static str) {
        self.0.events.send((event, Instant::now())).unwrap();
    }
}

fn fails(counter: &AtomicU32) -> bool {
    let less = |left: u32| left.checked_sub(1);
    counter
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
        .is_ok()
}

impl JobQueue for Jobs {
    type Job = ();
    type Answer = ();
    type Connection = ();

    const NAME: &'static str = "tests";

    fn room(&self, busy: usize) -> usize {
        2_usize.saturating_sub(busy)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        if fails(&self.0.away) {
            self.tell("away");
            return Err(DbError::Busy);
        }
        let left = self.0.jobs.load(Ordering::SeqCst) > 0;
        Ok(left.then_some(Duration::ZERO))
    }

    async fn lease(&self, _: i64) -> Result<Vec<()>, DbError> {
        self.0.jobs.fetch_sub(1, Ordering::SeqCst);
        self.tell("leased");
        Ok(vec![()])
    }

    async fn act(&self, (): &mut (), (): &(), _: &ShutdownSignal) {}

    async fn settle(&self, (): &(), (): &()) -> Result<(), DbError> {
        if !fails(&self.0.unwritten) {
            self.tell("written");
            return Ok(());
        }
        self.tell("not written");
        match self.0.how {
            How::Away => Err(DbError::Unreachable("away".to_owned())),
            How::Silent => std::future::pending().await,
            How::Refused => Err(DbError::from(Error::RollbackTransaction)),
            How::Lasting => {
                let cause = Box::new(std::io::Error::other("unlucky"));
                Err(DbError::from(Error::SerializationError(cause)))
            }
        }
    }

    fn keeps_connection(&self) -> bool {
        false
    }

    async fn close(&self, (): ()) {}

    async fn keep_house(&self) -> Result<(), DbError> {
        Ok(())
    }
}

/// A worker with two jobs, and its events.
struct Stage {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    told: mpsc::UnboundedReceiver<Event>,
}

impl Stage {
    fn set(away: u32, unwritten: u32, how: How) -> Self {
        let (events, told) = mpsc::unbounded_channel();
        let state = State {
            away: away.into(),
            unwritten: unwritten.into(),
            how,
            jobs: 2.into(),
            events,
        };
        let (stop, stopping) = watch::channel(false);
        let worker = Worker {
            work: Jobs(Arc::new(state)),
            stopping: ShutdownSignal(stopping),
            pace: FAST,
            outage: Arc::default(),
        };
        let task = tokio::spawn(worker.run(Arc::new(Notify::new())));
        Self { stop, task, told }
    }

    /// Returns all events up to and including `last`.
    async fn until(&mut self, last: &str) -> Vec<Event> {
        let mut seen = Vec::new();
        let all = async {
            while seen.last().is_none_or(|(event, _)| *event != last) {
                seen.push(self.told.recv().await.unwrap());
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
    let mut stage = Stage::set(0, 200, How::Away);
    let seen = stage.until("written").await;
    assert_eq!(
        (count(&seen, "leased"), count(&seen, "not written")),
        (1, 200)
    );
    stage.until("leased").await;
}

#[tokio::test]
async fn a_silent_database_is_asked_again() {
    let mut stage = Stage::set(0, 2, How::Silent);
    let mut seen = stage.until("written").await;
    seen.extend(stage.until("written").await);
    assert_eq!(count(&seen, "not written"), 2);
}

#[tokio::test]
async fn an_outcome_that_the_database_never_accepts_is_dropped() {
    let mut stage = Stage::set(0, u32::MAX, How::Lasting);
    let tries = usize::try_from(2 * LASTING_TRIES).unwrap();
    let mut seen = Vec::new();
    while count(&seen, "not written") < tries {
        seen.extend(stage.until("not written").await);
    }
    stage.stop.send(true).unwrap();
    stage.task.await.unwrap();
    assert_eq!(count(&seen, "leased"), 2);
    assert_eq!(stage.told.recv().await, None);
}

#[tokio::test]
async fn a_refused_outcome_delays_new_leases_for_a_limited_time() {
    let mut stage = Stage::set(0, u32::MAX, How::Refused);
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
    let mut stage = Stage::set(0, u32::MAX, How::Away);
    stage.until("not written").await;
    stage.stop.send(true).unwrap();
    let stopped = timeout(Duration::from_secs(20), stage.task).await;
    stopped.unwrap().unwrap();
}

#[tokio::test]
async fn after_a_long_outage_leasing_waits_until_others_have_recorded_their_outcomes() {
    // After a failed query, the next one follows a second later.
    let mut stage = Stage::set(2, 0, How::Away);
    let seen = stage.until("leased").await;
    let [.., (away, last), (leased, at)] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!((*away, *leased), ("away", "leased"));
    // The successful query a second later, and then the grace period.
    assert!(*at >= *last + LOOK_EVERY + FAST.grace);
}
