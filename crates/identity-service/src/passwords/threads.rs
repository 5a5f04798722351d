//! Threads for work that is slow on purpose: as many as there are cores, at a low priority, fed by a
//! bounded queue. The scheduler lets whoever answers requests go first, so a flood of sign-ins takes
//! the time that is left over, which is all of it when nobody else wants any.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::Error;

/// How many may wait for a core, and for how long. Who comes later is told to come back.
pub(super) const MAX_WAITING: usize = 256;
const MAX_WAIT: Duration = Duration::from_secs(15);

/// At equal demand a thread of this niceness gets a tenth of what an ordinary one gets: enough that
/// sign-ins go on, however busy the machine is otherwise.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The threads; they end when this is dropped, after what they are at.
pub(super) struct Threads {
    queue: Arc<Queue>,
    max_wait: Duration,
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    closed: bool,
}

struct Job {
    /// Tells whoever waits that it is his turn; fails when nobody waits any more.
    begin: oneshot::Sender<()>,
    work: Box<dyn FnOnce() + Send>,
}

impl Threads {
    /// Starts one thread for each core.
    pub(super) fn spawn() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self::spawn_with(cores, MAX_WAIT)
    }

    fn spawn_with(count: usize, max_wait: Duration) -> std::io::Result<Self> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let threads = Self { queue, max_wait };
        for _ in 0..count {
            let queue = Arc::clone(&threads.queue);
            std::thread::Builder::new()
                .name("identity bcrypt".to_owned())
                .spawn(move || {
                    yield_to_others();
                    queue.serve();
                })?;
        }
        Ok(threads)
    }

    /// Runs `work` when its turn comes. What nobody waits for any more, because the request was dropped or
    /// has waited too long, is not run; what has begun is finished.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when the queue is full or the turn does not come in time.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce() -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let (begin, begun) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        self.queue.push(Job {
            begin,
            work: Box::new(move || drop(answer.send(work()))),
        })?;
        tokio::time::timeout(self.max_wait, begun)
            .await
            .map_err(|_| Error::Overloaded)?
            .map_err(|error| Error::internal("password queue", error))?;
        answered
            .await
            .map_err(|error| Error::internal("password thread", error))?
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.closed = true;
        state.waiting.clear();
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn push(&self, job: Job) -> Result<(), Error> {
        let mut state = self.lock();
        if state.waiting.len() >= MAX_WAITING {
            // Places of those who went away are free.
            state.waiting.retain(|job| !job.begin.is_closed());
        }
        if state.waiting.len() >= MAX_WAITING {
            return Err(Error::Overloaded);
        }
        state.waiting.push_back(job);
        self.changed.notify_one();
        Ok(())
    }

    /// Works jobs off, first come first served, until the queue is closed.
    fn serve(&self) {
        while let Some(Job { begin, work }) = self.next() {
            if begin.send(()).is_ok() {
                // A panic reaches whoever waits as a lost answer, and costs no thread.
                drop(catch_unwind(AssertUnwindSafe(work)));
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lowers the priority of the calling thread.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    // On Linux this concerns the calling thread alone (setpriority(2), "C library/kernel differences").
    if let Err(error) = rustix::process::nice(NICENESS) {
        log::warn!("sign-ins compete with everything else for the cores: {error}");
    }
}

/// Elsewhere there is no priority of a single thread that could be lowered without unsafe code.
#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    /// One thread, which is busy until the returned sender says so.
    async fn busy(max_wait: Duration) -> (Arc<Threads>, mpsc::Sender<()>) {
        let threads = Arc::new(Threads::spawn_with(1, max_wait).unwrap());
        let (release, released) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let running = Arc::clone(&threads);
        tokio::spawn(async move {
            let work = move || {
                let _ = begin.send(());
                let _ = released.recv();
                Ok(())
            };
            running.run(work).await
        });
        begun.await.unwrap();
        (threads, release)
    }

    #[tokio::test]
    async fn who_comes_when_the_queue_is_full_is_turned_away_at_once_until_somebody_leaves() {
        let (threads, release) = busy(MAX_WAIT).await;
        let ran = Arc::new(AtomicUsize::new(0));
        let job = || {
            let (threads, ran) = (Arc::clone(&threads), Arc::clone(&ran));
            async move {
                let work = move || Ok(ran.fetch_add(1, Ordering::SeqCst));
                threads.run(work).await
            }
        };
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| tokio::spawn(job())).collect();
        test_kit::wait_until("all to queue", Duration::from_secs(5), async || {
            let queued = threads.queue.lock().waiting.len();
            (queued == MAX_WAITING).then_some(())
        })
        .await;
        assert!(matches!(job().await, Err(Error::Overloaded)));
        // A client that hangs up makes room, and nothing is computed for it.
        let gone = waiting.remove(7);
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        let late = tokio::spawn(job());
        release.send(()).unwrap();
        for attempt in waiting {
            attempt.await.unwrap().unwrap();
        }
        late.await.unwrap().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), MAX_WAITING);
    }

    #[tokio::test]
    async fn who_waited_too_long_is_told_so_and_nothing_is_computed_for_him() {
        let (threads, release) = busy(Duration::from_millis(20)).await;
        let ran = Arc::new(AtomicUsize::new(0));
        let count = |ran: &Arc<AtomicUsize>| {
            let ran = Arc::clone(ran);
            move || Ok(ran.fetch_add(1, Ordering::SeqCst))
        };
        let late = threads.run(count(&ran)).await;
        assert!(matches!(late, Err(Error::Overloaded)));
        release.send(()).unwrap();
        // On a busy machine the thread may be late again; that too computes nothing.
        let turn = async || threads.run(count(&ran)).await.ok();
        let first = test_kit::wait_until("a turn", Duration::from_secs(10), turn).await;
        assert_eq!(first, 0);
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_request_and_the_thread_goes_on() {
        let threads = Threads::spawn_with(1, MAX_WAIT).unwrap();
        let failed = threads.run::<(), _>(|| panic!("on purpose")).await;
        assert!(matches!(failed, Err(Error::Internal(_))));
        assert_eq!(threads.run(|| Ok(7)).await.unwrap(), 7);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_the_threads_that_hash_have_a_low_priority() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let before = own();
        let threads = Threads::spawn_with(1, MAX_WAIT).unwrap();
        let theirs = threads.run(move || Ok(own())).await.unwrap();
        assert_eq!(theirs, (before + NICENESS).min(19));
        assert_eq!(own(), before);
    }
}
