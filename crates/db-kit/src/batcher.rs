//! Coalesces concurrent requests of one kind into one. Many requests then cost the database, and the threads between it and the
//! callers, little more than a single one. A request that arrives alone does not wait.

use std::any::Any;
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::batch_queue::BatchQueue;
use crate::connection::TrackedConnection;
use crate::transaction::transaction;
use crate::workers::{JobError, JobHandle, JobState};
use crate::{Backend, Db, DbError, Pool};

const MAX_BATCH: usize = 32;
/// The maximum number of concurrent read batches. Requests that arrive while one runs form the next.
const READS_AT_ONCE: usize = 1;
/// The maximum number of concurrent write batches: one that waits for a lock does not block all others.
const WRITES_AT_ONCE: usize = 2;

/// If a server gives up sooner than this, it has found a deadlock rather than reached its statement timeout.
const DEADLOCK_LIMIT: Duration = Duration::from_secs(5);

/// A function that returns one value per key, in the order of the keys. There are 1 to [`MAX_BATCH`] keys, one for each
/// waiting caller.
type BatchFn<K, V> = fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>;

/// A coalescer of concurrent requests of one kind; see [`Pool::batch_reads`], [`Pool::batch_writes`] and
/// [`Pool::batch_transactions`].
pub struct Batcher<K, V> {
    pool: Pool,
    /// None if each request runs alone: SQLite's writer lets waiting requests share a commit anyway.
    queue: Option<BatchQueue<PendingRequest<K, V>>>,
    work: BatchFn<K, V>,
    /// Returns the owner of the row that a write locks; none for reads.
    owner: Option<fn(&K) -> i64>,
}

/// How a batch runs on PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batch {
    /// As statements that each commit on their own.
    Statements,
    /// In one transaction.
    Transaction,
}

struct PendingRequest<K, V> {
    key: K,
    /// A second request from the same owner is left for a later batch. That batch may run at the same time as the first: only the
    /// row lock keeps the two apart.
    owner: Option<i64>,
    state: JobState,
    reply: oneshot::Sender<Reply<V>>,
}

type Reply<V> = Result<(Result<V, DbError>, u64), JobError>;

impl<K, V> std::fmt::Debug for Batcher<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}

impl<K: Send + 'static, V: Send + 'static> Batcher<K, V> {
    pub(crate) fn for_reads(pool: Pool, work: BatchFn<K, V>) -> Self {
        let queue = queue(pool.clone(), READS_AT_ONCE, Batch::Statements, work);
        Self {
            pool,
            queue: Some(queue),
            work,
            owner: None,
        }
    }

    pub(crate) fn for_writes(
        pool: Pool,
        batch: Batch,
        work: BatchFn<K, V>,
        owner: fn(&K) -> i64,
    ) -> Self {
        let queue = (pool.backend() == Backend::Postgres)
            .then(|| queue(pool.clone(), WRITES_AT_ONCE, batch, work));
        Self {
            pool,
            queue,
            work,
            owner: Some(owner),
        }
    }

    /// Runs the work for `key`. It begins after this call, so it sees everything that was committed before.
    ///
    /// # Errors
    /// Those of [`Pool::read`] and [`Pool::write_one`]. An error that one of the coalesced requests causes fails only that request.
    pub async fn run(&self, key: K) -> Result<V, DbError> {
        let Some(queue) = &self.queue else {
            return self.run_alone(key).await;
        };
        let (reply, pending) = JobHandle::new();
        let request = PendingRequest {
            owner: self.owner.map(|owner| owner(&key)),
            key,
            state: pending.state(),
            reply,
        };
        match queue.send(request) {
            Ok(()) => self.pool.wait_for(pending).await,
            Err(error) => Err(self.pool.job_error(error)),
        }
    }

    async fn run_alone(&self, key: K) -> Result<V, DbError> {
        let work = self.work;
        let alone = move |db: &mut Db| work(db, std::slice::from_ref(&key)).and_then(single_value);
        self.pool.write_tx(alone).await
    }
}

fn queue<K: Send + 'static, V: Send + 'static>(
    pool: Pool,
    at_once: usize,
    batch: Batch,
    work: BatchFn<K, V>,
) -> BatchQueue<PendingRequest<K, V>> {
    BatchQueue::new("database batch", at_once, take_batch, move |requests| {
        run_batch(&pool, batch, work, requests);
    })
}

/// Takes the next batch from the queue, at most one request per owner.
fn take_batch<K, V>(waiting: &mut VecDeque<PendingRequest<K, V>>) -> Vec<PendingRequest<K, V>> {
    let (mut batch, mut later, mut owners) = (Vec::new(), Vec::new(), HashSet::new());
    while batch.len() < MAX_BATCH
        && let Some(request) = waiting.pop_front()
    {
        match request.owner.is_none_or(|owner| owners.insert(owner)) {
            true => batch.push(request),
            false => later.push(request),
        }
    }
    for request in later.into_iter().rev() {
        waiting.push_front(request);
    }
    batch
}

fn run_batch<K, V>(
    pool: &Pool,
    batch: Batch,
    work: BatchFn<K, V>,
    requests: Vec<PendingRequest<K, V>>,
) {
    let connection = pool.checkout();
    // Only once there is a connection: until then the callers may give up.
    let (keys, replies) = begin(requests);
    let run = || match connection {
        Ok(mut managed) => {
            let before = managed.statements();
            let results = run_keys(&mut managed, &keys, batch, work);
            (results, managed.statements() - before)
        }
        Err(error) => (repeat_error(&keys, &error), 0),
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok((results, mut statements)) => {
            for (result, reply) in results.into_iter().zip(replies) {
                // The caller may be gone. The first caller counts the statements of the whole batch.
                let _ = reply.send(Ok((result, std::mem::take(&mut statements))));
            }
        }
        Err(payload) => fail(payload, replies),
    }
}

/// Marks the requests as begun, and leaves out those whose callers gave up.
fn begin<K, V>(requests: Vec<PendingRequest<K, V>>) -> (Vec<K>, Vec<oneshot::Sender<Reply<V>>>) {
    let begun = requests.into_iter().filter(|request| request.state.begin());
    begun.map(|request| (request.key, request.reply)).unzip()
}

/// Returns one result per key.
fn run_keys<K, V>(
    managed: &mut TrackedConnection,
    keys: &[K],
    batch: Batch,
    work: BatchFn<K, V>,
) -> Vec<Result<V, DbError>> {
    if keys.is_empty() {
        return Vec::new();
    }
    let begun = Instant::now();
    let done = match batch {
        Batch::Statements => work(&mut managed.db, keys),
        Batch::Transaction => transaction(managed, |db| work(db, keys)),
    };
    match done {
        Ok(values) if values.len() == keys.len() => values.into_iter().map(Ok).collect(),
        // Which request caused the error is unknown, so each one runs alone.
        Err(error) if keys.len() > 1 && is_isolable(&error, begun.elapsed()) => {
            let alone = keys.iter().map(std::slice::from_ref);
            alone
                .flat_map(|key| run_keys(managed, key, batch, work))
                .collect()
        }
        Ok(values) => {
            let reason = format!("{} of {} results were returned", values.len(), keys.len());
            repeat_error(keys, &DbError::Unreachable(reason))
        }
        // A single key: with several, each has run alone.
        Err(error @ DbError::Query(_)) => vec![Err(error)],
        Err(error) => repeat_error(keys, &error),
    }
}

/// Whether one request may have caused the error. A deadlock is reported quickly; a slow server is slow for all requests.
fn is_isolable(error: &DbError, after: Duration) -> bool {
    match error {
        DbError::Query(_) => true,
        DbError::Busy => after < DEADLOCK_LIMIT,
        DbError::Unreachable(_) => false,
    }
}

/// Returns the value of a single key.
fn single_value<V>(values: Vec<V>) -> Result<V, DbError> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(DbError::Unreachable("no single result".to_owned())),
    }
}

fn repeat_error<K, V>(keys: &[K], error: &DbError) -> Vec<Result<V, DbError>> {
    keys.iter().map(|_| Err(error.again())).collect()
}

/// Passes the panic on to one caller, and an error to the others.
fn fail<V>(payload: Box<dyn Any + Send>, replies: Vec<oneshot::Sender<Reply<V>>>) {
    let mut payload = Some(payload);
    for reply in replies {
        let error = DbError::Unreachable("another key of the batch failed".to_owned());
        let _ = reply.send(match payload.take() {
            Some(payload) => Err(JobError::Panicked(payload)),
            None => Ok((Err(error), 0)),
        });
    }
}
