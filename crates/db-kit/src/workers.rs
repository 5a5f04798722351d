//! Threads that work off one bounded queue, so that async threads wait neither for a database nor for a password hash. A thread
//! takes the next job itself, because waking another one costs more than many a statement.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// A thread that is idle for this long ends.
const IDLE: Duration = Duration::from_secs(10);

/// The maximum number of waiting jobs, unless [`Workers::max_waiting`] sets another.
const MAX_WAITING: usize = 10_000;

/// Threads and their queue. Threads start on demand; dropping this closes the queue.
pub struct Workers {
    queue: Arc<Queue>,
    name: &'static str,
    threads: usize,
    max_waiting: usize,
    on_start: fn(),
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    /// Threads that wait for a job.
    idle: usize,
    closed: bool,
}

struct Job {
    state: JobState,
    work: Box<dyn FnOnce() + Send>,
}

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Too many jobs are waiting.
    #[error("too many jobs are waiting")]
    Full,
    /// The job did not begin in time, and will not run.
    #[error("the job did not start in time")]
    NotStarted,
    /// The job began, but did not end in time.
    #[error("the job did not end in time")]
    NotFinished,
    /// The queue was closed before the job began.
    #[error("the queue is closed")]
    Closed,
    /// The job panicked with this payload.
    #[error("the job panicked")]
    Panicked(Box<dyn Any + Send>),
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("name", &self.name)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Workers {
    /// Creates a queue with up to `threads` threads of this name, at least one.
    #[must_use]
    pub fn new(name: &'static str, threads: usize) -> Self {
        Self {
            queue: Arc::default(),
            name,
            threads: threads.max(1),
            max_waiting: MAX_WAITING,
            on_start: || {},
        }
    }

    /// Limits how many jobs may wait for a thread; the next one fails with [`JobError::Full`].
    #[must_use]
    pub fn max_waiting(mut self, max_waiting: usize) -> Self {
        self.max_waiting = max_waiting;
        self
    }

    /// Sets what each thread does before its first job.
    #[must_use]
    pub fn on_start(mut self, on_start: fn()) -> Self {
        self.on_start = on_start;
        self
    }

    /// Runs `work` on a thread, in order of arrival. A job whose caller gives up before it begins does not run; one that has
    /// begun runs to its end.
    ///
    /// # Errors
    /// [`JobError`] if the job waits longer than `start` for a thread, or takes longer than `total` in total. It also reports a full
    /// or closed queue, and a panic of the job.
    pub async fn run<T: Send + 'static>(
        &self,
        start: Duration,
        total: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let (reply, pending) = JobHandle::new();
        let state = pending.state();
        let work = move || {
            if !state.begin() {
                return;
            }
            let outcome = catch_unwind(AssertUnwindSafe(work));
            // The caller may be gone; the work is done all the same.
            let _ = reply.send(outcome.map_err(JobError::Panicked));
        };
        self.push(Job {
            state: pending.state(),
            work: Box::new(work),
        })?;
        pending.outcome(start, total).await
    }

    /// Runs `work`, whose end nobody awaits and which does not panic.
    pub(crate) fn spawn(&self, work: impl FnOnce() + Send + 'static) -> Result<(), JobError> {
        self.push(Job {
            state: JobState::default(),
            work: Box::new(work),
        })
    }

    fn push(&self, job: Job) -> Result<(), JobError> {
        let mut state = self.queue.state();
        if state.waiting.len() >= self.max_waiting {
            // Jobs whose callers gave up free their places.
            state.waiting.retain(|job| !job.state.is_cancelled());
        }
        if state.waiting.len() >= self.max_waiting {
            return Err(JobError::Full);
        }
        state.waiting.push_back(job);
        if state.idle >= state.waiting.len() {
            drop(state);
            self.queue.changed.notify_one();
        } else if state.threads < self.threads {
            let (queue, on_start) = (Arc::clone(&self.queue), self.on_start);
            let thread = std::thread::Builder::new().name(self.name.to_owned());
            let started = thread.spawn(move || {
                on_start();
                while let Some(job) = queue.next() {
                    (job.work)();
                }
            });
            match started {
                Ok(_) => state.threads += 1,
                Err(error) => {
                    log::error!("the thread {:?} could not be started: {error}", self.name);
                    if state.threads == 0 {
                        state.waiting.pop_back();
                        return Err(JobError::Full);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.state().closed = true;
        self.queue.changed.notify_all();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next job, or none if the thread is to end.
    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.closed {
                state.waiting.clear();
                state.threads -= 1;
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            let (woken, waited) = self
                .changed
                .wait_timeout(state, IDLE)
                .unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }
}

/// The state of a job: waiting, begun or cancelled.
#[derive(Clone, Default)]
pub(crate) struct JobState(Arc<AtomicU8>);

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const CANCELLED: u8 = 2;

impl JobState {
    /// Begins the job. Returns false if its caller gave up.
    pub(crate) fn begin(&self) -> bool {
        self.leave_waiting(BEGUN)
    }

    fn cancel(&self) -> bool {
        self.leave_waiting(CANCELLED)
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire) == CANCELLED
    }

    /// Ends the waiting state. Returns false if it had already ended.
    fn leave_waiting(&self, next: u8) -> bool {
        self.0
            .compare_exchange(WAITING, next, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

/// The caller's end of a job. If it is dropped before the job begins, the job does not run.
pub(crate) struct JobHandle<T> {
    state: JobState,
    outcome: oneshot::Receiver<Result<T, JobError>>,
}

impl<T> JobHandle<T> {
    /// Creates the two ends of a job.
    pub(crate) fn new() -> (oneshot::Sender<Result<T, JobError>>, Self) {
        let (reply, outcome) = oneshot::channel();
        let state = JobState::default();
        (reply, Self { state, outcome })
    }

    pub(crate) fn state(&self) -> JobState {
        self.state.clone()
    }

    /// Waits for the job's result, up to `start` until it begins and up to `total` altogether.
    pub(crate) async fn outcome(mut self, start: Duration, total: Duration) -> Result<T, JobError> {
        let outcome = match tokio::time::timeout(start, &mut self.outcome).await {
            Ok(outcome) => outcome,
            Err(_) if self.state.cancel() => return Err(JobError::NotStarted),
            Err(_) => tokio::time::timeout(total.saturating_sub(start), &mut self.outcome)
                .await
                .map_err(|_| JobError::NotFinished)?,
        };
        outcome.map_err(|_| JobError::Closed)?
    }
}

impl<T> Drop for JobHandle<T> {
    fn drop(&mut self) {
        self.state.cancel();
    }
}

#[cfg(test)]
mod tests;
