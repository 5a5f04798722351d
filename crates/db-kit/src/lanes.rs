//! Threads that work off one queue, so that async threads never wait for a database. While there is work a thread goes
//! from one piece to the next by itself: nobody has to be woken in between, which costs more than many a statement.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// A thread without work for so long ends.
const IDLE: Duration = Duration::from_secs(10);

/// What a thread does for somebody; it finds out by itself whether it is still wanted.
type Job = Box<dyn FnOnce() + Send>;

/// What a piece of work came to, or what it panicked with.
pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// A queue and its threads, which are started as they are needed.
pub(crate) struct Lanes {
    queue: Arc<Queue>,
    /// Pieces of work that wait or are being done.
    busy: Arc<AtomicUsize>,
    name: &'static str,
    most: usize,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// Threads that wait for a job.
    idle: usize,
    closed: bool,
}

/// Whether a piece of work has begun, or is not to begin any more.
#[derive(Clone, Default)]
pub(crate) struct Ticket(Arc<AtomicU8>);

const WAITS: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Ticket {
    /// Whether somebody still waits for it; from then on it is under way.
    pub(crate) fn begins(&self) -> bool {
        self.becomes(BEGUN)
    }

    /// Moves on from waiting; false when somebody else did so before.
    fn becomes(&self, what: u8) -> bool {
        self.0
            .compare_exchange(WAITS, what, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// A piece of work on its way. Dropped before it begins, it never does.
pub(crate) struct Pending<T> {
    ticket: Ticket,
    outcome: oneshot::Receiver<Outcome<T>>,
}

/// Why there is no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    /// It had not begun in time, and will not.
    Turn,
    /// It began and has not ended in time.
    End,
    /// The queue was closed before it began.
    Closed,
}

impl Lanes {
    pub(crate) fn new(name: &'static str, most: usize) -> Self {
        Self {
            queue: Arc::default(),
            busy: Arc::default(),
            name,
            most: most.max(1),
        }
    }

    /// Pieces of work that wait or are being done.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Acquire)
    }

    /// Has `work` done by the next thread that is free.
    pub(crate) fn send<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Pending<T> {
        let (answer, pending) = Pending::new();
        let (turn, busy) = (pending.ticket(), Arc::clone(&self.busy));
        self.busy.fetch_add(1, Ordering::AcqRel);
        self.run(move || {
            let outcome = turn.begins().then(|| catch_unwind(AssertUnwindSafe(work)));
            // Before anybody hears of it: whoever looks then sees that it is over.
            busy.fetch_sub(1, Ordering::AcqRel);
            if let Some(outcome) = outcome {
                // Whoever asked may have gone; what is done is done.
                let _ = answer.send(outcome);
            }
        });
        pending
    }

    /// Has `job`, which does not panic, done by the next thread that is free; false when there is none and none can be
    /// started, so that it waits for the next try.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.queue.state();
        state.jobs.push_back(Box::new(job));
        if state.idle >= state.jobs.len() {
            drop(state);
            self.queue.news.notify_one();
        } else if state.threads < self.most {
            let queue = Arc::clone(&self.queue);
            let thread = std::thread::Builder::new().name(self.name.to_owned());
            match thread.spawn(move || queue.work_off()) {
                Ok(_) => state.threads += 1,
                // Those that there are do it; without any it is given up when its time is over.
                Err(error) => log::error!("no thread for the database: {error}"),
            }
            return state.threads > 0;
        }
        true
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.queue.state().closed = true;
        self.queue.news.notify_all();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under the lock panics half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_off(&self) {
        while let Some(job) = self.next() {
            job();
        }
    }

    /// The next job; none when the thread is to end, which has left the count then.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.closed {
                state.jobs.clear();
            } else if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let (woken, waited) = self
                .news
                .wait_timeout(state, IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }
}

impl<T> Pending<T> {
    /// A piece of work, and who is to tell what it came to.
    pub(crate) fn new() -> (oneshot::Sender<Outcome<T>>, Self) {
        let (answer, outcome) = oneshot::channel();
        let ticket = Ticket::default();
        (answer, Self { ticket, outcome })
    }

    /// What says whether it has begun.
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket.clone()
    }

    /// Waits until it is done: for so long until it begins, and for so long altogether.
    pub(crate) async fn outcome(
        mut self,
        turn: Duration,
        end: Duration,
    ) -> Result<Outcome<T>, Missed> {
        let outcome = match tokio::time::timeout(turn, &mut self.outcome).await {
            Ok(outcome) => outcome,
            Err(_) if self.ticket.becomes(GIVEN_UP) => return Err(Missed::Turn),
            Err(_) => {
                let left = end.saturating_sub(turn);
                match tokio::time::timeout(left, &mut self.outcome).await {
                    Ok(outcome) => outcome,
                    Err(_) => return Err(Missed::End),
                }
            }
        };
        outcome.map_err(|_| Missed::Closed)
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.ticket.becomes(GIVEN_UP);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A piece of work that lasts until it is let go.
    fn held(lanes: &Lanes) -> (Pending<()>, mpsc::Sender<()>) {
        let (let_go, gate) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let pending = lanes.send(move || {
            begun.send(()).unwrap();
            let _ = gate.recv();
        });
        begins.recv().unwrap();
        (pending, let_go)
    }

    #[tokio::test]
    async fn work_is_done_in_its_order_by_as_many_threads_as_there_may_be() {
        let lanes = Lanes::new("test", 2);
        let (first, let_first_go) = held(&lanes);
        let (_second, _let_second_go) = held(&lanes);
        let done = Arc::new(Mutex::new(Vec::new()));
        let rest: Vec<_> = (0..10)
            .map(|number| {
                let done = Arc::clone(&done);
                lanes.send(move || done.lock().unwrap().push(number))
            })
            .collect();
        assert_eq!(lanes.busy(), 12);
        assert!(done.lock().unwrap().is_empty());
        drop(let_first_go);
        first.outcome(LONG, LONG).await.unwrap().unwrap();
        for pending in rest {
            pending.outcome(LONG, LONG).await.unwrap().unwrap();
        }
        assert_eq!(*done.lock().unwrap(), (0..10).collect::<Vec<_>>());
        assert_eq!(lanes.queue.state().threads, 2);
    }

    #[tokio::test]
    async fn what_does_not_begin_in_time_never_does_and_what_lasts_too_long_is_left_alone() {
        let lanes = Lanes::new("test", 1);
        let soon = Duration::from_millis(20);
        let (slow, let_go) = held(&lanes);
        let (ran, runs) = mpsc::channel();
        let given_up = lanes.send({
            let ran = ran.clone();
            move || ran.send("given up").unwrap()
        });
        assert_eq!(
            given_up.outcome(soon, LONG).await.unwrap_err(),
            Missed::Turn
        );
        let abandoned = ran.clone();
        drop(lanes.send(move || abandoned.send("abandoned").unwrap()));
        assert_eq!(slow.outcome(soon, soon).await.unwrap_err(), Missed::End);
        drop(let_go);
        let last = lanes.send(move || ran.send("last").unwrap());
        last.outcome(LONG, LONG).await.unwrap().unwrap();
        assert_eq!(runs.iter().collect::<Vec<_>>(), ["last"]);
    }

    #[tokio::test]
    async fn a_panic_is_its_callers_and_the_thread_goes_on() {
        let lanes = Lanes::new("test", 1);
        let panics = lanes.send(|| panic!("as it happens"));
        let payload = panics.outcome(LONG, LONG).await.unwrap().unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"as it happens"));
        let fine = lanes.send(|| 7).outcome(LONG, LONG).await;
        assert_eq!(fine.unwrap().unwrap(), 7);
        assert_eq!(lanes.queue.state().threads, 1);
    }

    #[tokio::test]
    async fn what_waits_when_the_queue_is_closed_is_not_begun() {
        let lanes = Lanes::new("test", 1);
        let (running, let_go) = held(&lanes);
        let waits = lanes.send(|| ());
        drop(lanes);
        drop(let_go);
        running.outcome(LONG, LONG).await.unwrap().unwrap();
        assert_eq!(waits.outcome(LONG, LONG).await.unwrap_err(), Missed::Closed);
    }
}
