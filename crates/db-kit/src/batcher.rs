//! Jobs of one kind, done in batches: what comes while a batch is being done is the next one. A job that comes alone waits
//! for nobody, and many cost the database, and the threads between it and the callers, little more than one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::workers::{Missed, Workers};

/// The most jobs that wait.
const MAX_WAITING: usize = 10_000;

/// Takes the next batch out of what waits, at least one job if there is one; what it leaves comes later.
type Take<J> = fn(&mut VecDeque<J>) -> Vec<J>;

/// Collects jobs and does them. What does a batch answers the callers of its jobs, and does not panic.
pub(crate) struct Batcher<J> {
    workers: Workers,
    at_once: usize,
    batches: Arc<Batches<J>>,
}

struct Batches<J> {
    state: Mutex<State<J>>,
    take: Take<J>,
    run: Box<dyn Fn(Vec<J>) + Send + Sync>,
}

struct State<J> {
    waiting: VecDeque<J>,
    /// Threads that take batches until nothing waits.
    running: usize,
}

impl<J: Send + 'static> Batcher<J> {
    /// At most `at_once` batches are done at the same time.
    pub(crate) fn new(
        name: &'static str,
        at_once: usize,
        take: Take<J>,
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
                take,
                run: Box::new(run),
            }),
        }
    }

    /// Has `job` done with the next batch. A caller that goes away leaves its job in the queue until then.
    pub(crate) fn send(&self, job: J) -> Result<(), Missed> {
        let mut state = self.batches.state();
        if state.waiting.len() >= MAX_WAITING {
            return Err(Missed::Full);
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
            // The next job tries to start a thread again.
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
        let batch = (self.take)(&mut state.waiting);
        if batch.is_empty() {
            state.running -= 1;
            return None;
        }
        Some(batch)
    }
}
