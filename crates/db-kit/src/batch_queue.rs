//! Runs jobs of one kind in batches. Jobs that arrive while a batch runs form the next one. A single job does not wait, and a
//! batch costs the database and the threads little more than one job.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::workers::{JobError, Workers};

/// The maximum number of waiting jobs.
const MAX_WAITING: usize = 10_000;

/// A function that removes the next batch from the queue, at least one job if there is one. Jobs that it leaves come in a later
/// batch.
type TakeBatch<J> = fn(&mut VecDeque<J>) -> Vec<J>;

/// A queue of jobs that run in batches. The function that runs a batch answers the callers and does not panic.
pub(crate) struct BatchQueue<J> {
    workers: Workers,
    at_once: usize,
    batches: Arc<Batches<J>>,
}

struct Batches<J> {
    state: Mutex<State<J>>,
    take_batch: TakeBatch<J>,
    run: Box<dyn Fn(Vec<J>) + Send + Sync>,
}

struct State<J> {
    waiting: VecDeque<J>,
    /// Threads that run batches until the queue is empty.
    running: usize,
}

impl<J: Send + 'static> BatchQueue<J> {
    /// Creates a queue that runs at most `at_once` batches at the same time.
    pub(crate) fn new(
        name: &'static str,
        at_once: usize,
        take_batch: TakeBatch<J>,
        run: impl Fn(Vec<J>) + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            running: 0,
        };
        Self {
            workers: Workers::new(name, at_once),
            at_once,
            batches: Arc::new(Batches {
                state: Mutex::new(state),
                take_batch,
                run: Box::new(run),
            }),
        }
    }

    /// Queues `job` for the next batch. If its caller gives up, the job stays in the queue until then.
    pub(crate) fn send(&self, job: J) -> Result<(), JobError> {
        let mut state = self.batches.state();
        if state.waiting.len() >= MAX_WAITING {
            return Err(JobError::Full);
        }
        state.waiting.push_back(job);
        if state.running == self.at_once {
            return Ok(());
        }
        state.running += 1;
        drop(state);
        let batches = Arc::clone(&self.batches);
        let spawned = self.workers.spawn(move || {
            while let Some(batch) = batches.next() {
                (batches.run)(batch);
            }
        });
        if spawned.is_err() {
            // The next job tries again to start a thread.
            self.batches.state().running -= 1;
        }
        spawned
    }
}

impl<J> Batches<J> {
    fn state(&self) -> std::sync::MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Vec<J>> {
        let mut state = self.state();
        let batch = (self.take_batch)(&mut state.waiting);
        if batch.is_empty() {
            state.running -= 1;
            return None;
        }
        Some(batch)
    }
}
