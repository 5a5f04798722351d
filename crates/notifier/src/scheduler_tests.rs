#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};

use diesel::result::Error;
use tokio::sync::mpsc;

use super::*;

/// Waits of a thousandth of the usual ones.
const FAST: Pace = Pace {
    write: Duration::from_millis(1),
    outage: Duration::from_millis(10),
    grace: Duration::from_millis(200),
};

/// One job, and a database that is away for as many tries as it is told.
#[derive(Clone)]
struct One(Arc<State>);

struct State {
    /// Looks that fail before the job is there.
    away: AtomicU32,
    /// Tries to write its outcome that fail, and whether they always would.
    unwritten: AtomicU32,
    lasts: bool,
    acted: AtomicU32,
    events: mpsc::UnboundedSender<(&'static str, Instant)>,
}

impl One {
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

impl Work for One {
    type Job = ();
    type Answer = ();
    type Line = ();

    const NAME: &'static str = "tests";
    const AT_A_TIME: usize = 1;

    fn room(&self, busy: usize) -> usize {
        1_usize.saturating_sub(busy)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        if fails(&self.0.away) {
            self.tell("away");
            return Err(DbError::Busy);
        }
        let done = self.0.acted.load(Ordering::SeqCst) > 0;
        Ok(Some(Duration::ZERO).filter(|_| !done))
    }

    async fn lease(&self, _: i64) -> Result<Vec<()>, DbError> {
        self.tell("leased");
        Ok(vec![()])
    }

    async fn act(&self, (): &mut (), (): &(), _: &Stopping) {
        self.0.acted.fetch_add(1, Ordering::SeqCst);
    }

    async fn settle(&self, (): &(), (): &(), _: bool) -> Result<Option<()>, DbError> {
        if fails(&self.0.unwritten) {
            self.tell("not written");
            return Err(match self.0.lasts {
                true => {
                    let cause = Box::new(std::io::Error::other("unlucky"));
                    DbError::from(Error::SerializationError(cause))
                }
                false => DbError::Unreachable("away".to_owned()),
            });
        }
        self.tell("written");
        Ok(None)
    }

    async fn keep_house(&self) -> Result<(), DbError> {
        Ok(())
    }
}

/// A worker at it, and what it does.
fn work(
    away: u32,
    unwritten: u32,
    lasts: bool,
) -> (
    watch::Sender<bool>,
    JoinHandle<()>,
    mpsc::UnboundedReceiver<(&'static str, Instant)>,
) {
    let (events, told) = mpsc::unbounded_channel();
    let state = State {
        away: away.into(),
        unwritten: unwritten.into(),
        lasts,
        acted: 0.into(),
        events,
    };
    let (stop, stopping) = watch::channel(false);
    let worker = Worker {
        work: One(Arc::new(state)),
        stopping: Stopping(stopping),
        pace: FAST,
    };
    let task = tokio::spawn(worker.run(Arc::new(Notify::new())));
    (stop, task, told)
}

/// Everything up to and with this event.
async fn until(
    last: &str,
    told: &mut mpsc::UnboundedReceiver<(&'static str, Instant)>,
) -> Vec<(&'static str, Instant)> {
    let mut seen = Vec::new();
    loop {
        let event = told.recv().await.unwrap();
        seen.push(event);
        if event.0 == last {
            return seen;
        }
    }
}

#[tokio::test]
async fn an_outcome_is_written_down_however_long_the_database_is_away() {
    let (_stop, _task, mut told) = work(0, 200, false);
    let seen = until("written", &mut told).await;
    let count = |what: &str| seen.iter().filter(|(event, _)| *event == what).count();
    assert_eq!((count("leased"), count("not written")), (1, 200));
}

#[tokio::test]
async fn what_the_database_never_takes_is_given_up_and_so_is_what_is_left_at_the_end() {
    for lasts in [true, false] {
        let (stop, task, mut told) = work(0, u32::MAX, lasts);
        until("not written", &mut told).await;
        stop.send(true).unwrap();
        task.await.unwrap();
        drop(stop);
        let mut tries = 1;
        while let Some((event, _)) = told.recv().await {
            assert_eq!(event, "not written");
            tries += 1;
        }
        assert!(tries >= WRITE_TRIES, "{tries} tries");
    }
}

#[tokio::test]
async fn after_a_long_outage_nothing_is_taken_before_those_who_know_an_outcome_have_written_it() {
    // A look that fails is a second before the next.
    let (_stop, _task, mut told) = work(2, 0, false);
    let seen = until("leased", &mut told).await;
    let [.., (away, last), (leased, at)] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!((*away, *leased), ("away", "leased"));
    // The look that succeeds, a second later, and then the grace.
    assert!(*at >= *last + LOOK_EVERY + FAST.grace);
}
