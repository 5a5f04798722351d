use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel::r2d2::{self, PooledConnection};
use scheduled_thread_pool::ScheduledThreadPool;

use crate::batcher::{Batch, Batcher};
use crate::connection::{ConnectionManager, TrackedConnection};
use crate::transaction::transaction;
use crate::workers::{JobError, JobHandle, Workers};
use crate::writer::Writer;
use crate::{Backend, DatabaseUrl, Db, DbError, round_trips};

/// The settings of a [`Pool`].
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The URL of the database.
    pub url: DatabaseUrl,
    /// The maximum number of connections.
    pub size: u32,
    /// How long a caller waits for a thread before [`DbError::Busy`], and a thread for a connection before
    /// [`DbError::Unreachable`].
    pub acquire_timeout: Duration,
    /// How long one unit of work may take before its caller gets [`DbError::Unreachable`]. It exceeds the server's own limits:
    /// only a silent server reaches it, not a slow one.
    pub answer_timeout: Duration,
}

impl PoolOptions {
    /// Returns the product's usual timeouts: two seconds for a connection, 30 seconds for an answer.
    #[must_use]
    pub fn new(url: DatabaseUrl, size: u32) -> Self {
        Self {
            url,
            size: size.max(1),
            acquire_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(30),
        }
    }
}

/// Connections to one database, used off the async threads.
///
/// As many threads as connections work off one queue. Each kind of coalesced work has one or two threads of its own, which use
/// the same connections. On SQLite, writes have a queue of their own with one thread: SQLite allows one write at a time, and a
/// fair queue beats its busy polling. Waiting writes share a commit; each one is still atomic.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    connections: Connections,
    workers: Workers,
    /// Only on SQLite.
    writer: Option<Writer>,
    refused: AtomicU64,
    options: PoolOptions,
}

#[derive(Clone)]
struct Connections {
    pool: r2d2::Pool<ConnectionManager>,
    generation: Arc<AtomicU64>,
}

/// The load of a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUsage {
    /// The maximum number of connections.
    pub size: usize,
    /// Connections on which work runs.
    pub in_use: usize,
    /// Units of work since the start that found the queue full or did not begin in time.
    pub refused: u64,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// Creates the pool. Connections open on demand, so that a service starts while its database is down.
    #[must_use]
    pub fn open(options: PoolOptions) -> Self {
        let manager = ConnectionManager::new(options.url.clone());
        let generation = Arc::clone(manager.generation());
        // One thread opens connections while the other hangs. More threads would only wait for the same database.
        let connecting = ScheduledThreadPool::builder().num_threads(2);
        let connecting = connecting.thread_name_pattern("database pool").build();
        let pool = r2d2::Pool::builder()
            .max_size(options.size)
            .min_idle(Some(0))
            .test_on_check_out(false)
            .connection_timeout(options.acquire_timeout)
            .max_lifetime(None)
            .thread_pool(Arc::new(connecting))
            .error_handler(Box::new(LogQuietly))
            .build_unchecked(manager);
        let connections = Connections { pool, generation };
        let mut readers = size(&options);
        let writer = (options.url.backend() == Backend::Sqlite).then(|| {
            // One connection belongs to the writer.
            readers -= 1;
            let connections = connections.clone();
            Writer::new(move || connections.checkout())
        });
        Self {
            inner: Arc::new(Inner {
                connections,
                workers: Workers::new("database", readers),
                writer,
                refused: AtomicU64::new(0),
                options,
            }),
        }
    }

    /// Returns the kind of database.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.inner.options.url.backend()
    }

    /// Returns the URL of the database.
    #[must_use]
    pub fn url(&self) -> &DatabaseUrl {
        &self.inner.options.url
    }

    /// Returns the current load.
    #[must_use]
    pub fn usage(&self) -> PoolUsage {
        let state = self.inner.connections.pool.state();
        PoolUsage {
            size: size(&self.inner.options),
            in_use: usize::try_from(state.connections - state.idle_connections)
                .unwrap_or(usize::MAX),
            refused: self.inner.refused.load(Ordering::Relaxed),
        }
    }

    /// Runs queries without a transaction, on a blocking thread.
    ///
    /// # Errors
    /// The closure's error; [`DbError::Busy`] if it does not begin in time; [`DbError::Unreachable`] without a connection, or if
    /// it does not end in time.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.on(move |managed| managed.counting(work)).await
    }

    /// Defines a kind of read whose concurrent requests are coalesced.
    #[must_use]
    pub fn batch_reads<K: Send + 'static, V: Send + 'static>(
        &self,
        read: fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>,
    ) -> Batcher<K, V> {
        Batcher::for_reads(self.clone(), read)
    }

    /// Defines a kind of write whose concurrent requests are coalesced on PostgreSQL, at most one per `owner`. It may read first,
    /// but writes in one statement, which commits on its own: after a failure each request runs alone, and would repeat an
    /// earlier statement. On SQLite, each request is a transaction.
    #[must_use]
    pub fn batch_writes<K: Send + 'static, V: Send + 'static>(
        &self,
        write: fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>,
        owner: fn(&K) -> i64,
    ) -> Batcher<K, V> {
        Batcher::for_writes(self.clone(), Batch::Statements, write, owner)
    }

    /// Defines a kind of write like [`Pool::batch_writes`], with one transaction for the whole batch.
    #[must_use]
    pub fn batch_transactions<K: Send + 'static, V: Send + 'static>(
        &self,
        write: fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>,
        owner: fn(&K) -> i64,
    ) -> Batcher<K, V> {
        Batcher::for_writes(self.clone(), Batch::Transaction, write, owner)
    }

    /// Runs one writing statement by itself, on PostgreSQL without a transaction and in one round trip.
    ///
    /// # Errors
    /// Those of [`Pool::read`].
    pub async fn write_one<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        match &self.inner.writer {
            Some(writer) => self.write_on(writer, work).await,
            None => self.read(work).await,
        }
    }

    /// Runs a transaction that may write. It commits if the closure returns `Ok`, and rolls back on `Err`.
    ///
    /// # Errors
    /// Those of [`Pool::read`], or a [`DbError`] when the transaction does not begin or commit.
    pub async fn write_tx<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        match &self.inner.writer {
            Some(writer) => self.write_on(writer, work).await,
            None => {
                self.on(move |managed| {
                    let before = managed.statements();
                    let outcome = transaction(managed, work);
                    (outcome, managed.statements() - before)
                })
                .await
            }
        }
    }

    /// Runs queries like [`Pool::read`], for callers without an async runtime, such as admin commands.
    ///
    /// # Errors
    /// Those of [`Pool::read`].
    pub fn read_blocking<T, E: From<DbError>>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, E>,
    ) -> Result<T, E> {
        work(&mut self.inner.connections.checkout()?.db)
    }

    /// Runs a transaction like [`Pool::write_tx`], for callers without an async runtime, such as admin commands.
    ///
    /// # Errors
    /// Those of [`Pool::write_tx`].
    pub fn write_tx_blocking<T, E: From<DbError>>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, E>,
    ) -> Result<T, E> {
        transaction(&mut *self.inner.connections.checkout()?, work)
    }

    /// Opens a connection outside the pool, for a caller that listens all the time. Blocks.
    ///
    /// # Errors
    /// [`DbError::Unreachable`] when the database does not answer.
    pub fn dedicated(&self) -> Result<Db, DbError> {
        ConnectionManager::new(self.inner.options.url.clone())
            .open()
            .map(|managed| managed.db)
            .map_err(|error| DbError::Unreachable(error.to_string()))
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// [`DbError`] when it does not.
    pub async fn ping(&self) -> Result<(), DbError> {
        self.read(|db| {
            diesel::connection::SimpleConnection::batch_execute(db, "SELECT 1")
                .map_err(DbError::from)
        })
        .await
    }

    async fn write_on<T, E, F>(&self, writer: &Writer, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        match writer.send(work) {
            Ok(pending) => self.wait_for(pending).await,
            Err(error) => Err(self.job_error(error).into()),
        }
    }

    /// Runs `work`, which counts its statements, on a connection.
    async fn on<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut TrackedConnection) -> (Result<T, E>, u64) + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let connections = self.inner.connections.clone();
        let work = move || match connections.checkout() {
            Ok(mut managed) => work(&mut managed),
            Err(error) => (Err(error.into()), 0),
        };
        let options = &self.inner.options;
        // A thread keeps waiting, with its connection, until the server or the network gives up; the caller does not.
        let workers = &self.inner.workers;
        let done = workers.run(options.acquire_timeout, options.answer_timeout, work);
        self.outcome(done.await)
    }

    /// Waits for the result of work on this pool.
    pub(crate) async fn wait_for<T, E: From<DbError>>(
        &self,
        pending: JobHandle<(Result<T, E>, u64)>,
    ) -> Result<T, E> {
        let options = &self.inner.options;
        let done = pending.outcome(options.acquire_timeout, options.answer_timeout);
        self.outcome(done.await)
    }

    fn outcome<T, E: From<DbError>>(
        &self,
        done: Result<(Result<T, E>, u64), JobError>,
    ) -> Result<T, E> {
        match done {
            Ok((outcome, statements)) => {
                round_trips::add(statements);
                outcome
            }
            Err(error) => Err(self.job_error(error).into()),
        }
    }

    /// Converts the reason why there is no result into an error. A panic continues in the caller.
    pub(crate) fn job_error(&self, error: JobError) -> DbError {
        match error {
            JobError::Panicked(panic) => std::panic::resume_unwind(panic),
            JobError::Full | JobError::NotStarted => {
                self.inner.refused.fetch_add(1, Ordering::Relaxed);
                DbError::Busy
            }
            JobError::NotFinished => DbError::Unreachable("no answer in time".to_owned()),
            JobError::Closed => DbError::Unreachable("the pool is closed".to_owned()),
        }
    }

    /// Returns a connection, for a thread that may block.
    pub(crate) fn checkout(&self) -> Result<PooledConnection<ConnectionManager>, DbError> {
        self.inner.connections.checkout()
    }
}

impl Connections {
    fn checkout(&self) -> Result<PooledConnection<ConnectionManager>, DbError> {
        loop {
            let conn = self
                .pool
                .get()
                .map_err(|error| DbError::Unreachable(error.to_string()))?;
            // A connection from before the last outage is dead; dropping it makes room for a new one.
            if conn.generation == self.generation.load(Ordering::Acquire) {
                return Ok(conn);
            }
        }
    }
}

fn size(options: &PoolOptions) -> usize {
    usize::try_from(options.size).unwrap_or(usize::MAX)
}

/// An error handler that logs failed attempts to connect at debug level only, because callers get an error of their own.
#[derive(Debug)]
struct LogQuietly;

impl<E: std::error::Error> r2d2::HandleError<E> for LogQuietly {
    fn handle_error(&self, error: E) {
        log::debug!("opening a database connection failed: {error}");
    }
}
