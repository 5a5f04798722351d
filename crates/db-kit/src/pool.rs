use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel::r2d2::{self, PooledConnection};
use scheduled_thread_pool::ScheduledThreadPool;

use crate::connection::{Managed, Manager};
use crate::gather::{Batch, Gather};
use crate::transaction::transaction;
use crate::workers::{Missed, Pending, Workers};
use crate::writer::Writer;
use crate::{Backend, DatabaseUrl, Db, DbError, round_trips};

/// How a [`Pool`] is made.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Where the database is.
    pub url: DatabaseUrl,
    /// The most connections.
    pub size: u32,
    /// How long a caller waits for a connection before [`DbError::Busy`].
    pub acquire_timeout: Duration,
    /// How long one unit of work may take before its caller is told that the database does not answer.
    /// Longer than the server's own limits: only a server that is silent, not one that is slow, meets it.
    pub answer_timeout: Duration,
}

impl PoolOptions {
    /// Two seconds of waiting, as everywhere in the product.
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
/// As many threads as there are connections work off one queue; each kind of gathered work has one or two threads of its own,
/// which use the same connections. On SQLite writers have a queue of their own with one thread: the database lets one write at a
/// time, and a fair queue beats its busy polling. Those that wait there share a commit; each is still all or nothing.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    connections: Connections,
    workers: Workers,
    /// On SQLite.
    writer: Option<Writer>,
    refused: AtomicU64,
    options: PoolOptions,
}

#[derive(Clone)]
struct Connections {
    pool: r2d2::Pool<Manager>,
    generation: Arc<AtomicU64>,
}

/// How busy a [`Pool`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUsage {
    /// The most connections.
    pub size: usize,
    /// Connections on which something runs.
    pub in_use: usize,
    /// Units of work since the start that got none in time, or on SQLite no turn to write.
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
    /// Prepares the pool; connections are opened as they are needed, so that a service starts while its database is away.
    #[must_use]
    pub fn open(options: PoolOptions) -> Self {
        let manager = Manager::new(options.url.clone());
        let generation = Arc::clone(manager.generation());
        // One opens connections while another hangs; more than that wait for a database that is away as well as these do.
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
            // One connection is the writer's.
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

    /// Which database this is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.inner.options.url.backend()
    }

    /// Where the database is.
    #[must_use]
    pub fn url(&self) -> &DatabaseUrl {
        &self.inner.options.url
    }

    /// How busy it is now.
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

    /// Runs queries without a transaction around them, on a blocking thread.
    ///
    /// # Errors
    /// What the closure returns, or [`DbError::Busy`] and [`DbError::Unreachable`] before it ran.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        self.on(move |managed| managed.counting(work)).await
    }

    /// A kind of read that is done as one for all who ask for it at the same time.
    #[must_use]
    pub fn gather<K: Send + 'static, V: Send + 'static>(
        &self,
        read: fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>,
    ) -> Gather<K, V> {
        Gather::of_reads(self.clone(), read)
    }

    /// A kind of write that on PostgreSQL is done as one for all who ask for it at the same time, of each `owner` one. It may read
    /// first, but all that it writes is one statement, which commits on its own: when it fails, each is tried by itself, and
    /// would do twice what an earlier statement did. On SQLite each is a transaction.
    #[must_use]
    pub fn gather_writes<K: Send + 'static, V: Send + 'static>(
        &self,
        write: fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>,
        owner: fn(&K) -> i64,
    ) -> Gather<K, V> {
        Gather::of_writes(self.clone(), Batch::Statements, write, owner)
    }

    /// As [`Pool::gather_writes`], in one transaction for all.
    #[must_use]
    pub fn gather_transactions<K: Send + 'static, V: Send + 'static>(
        &self,
        write: fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>,
        owner: fn(&K) -> i64,
    ) -> Gather<K, V> {
        Gather::of_writes(self.clone(), Batch::Transaction, write, owner)
    }

    /// Runs one writing statement by itself: on PostgreSQL without a transaction around it, in one round trip.
    ///
    /// # Errors
    /// As [`Pool::read`].
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

    /// Runs a transaction that may write: committed when the closure returns `Ok`, rolled back on `Err`.
    ///
    /// # Errors
    /// What the closure returns, or a [`DbError`] of beginning or committing.
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

    /// [`Pool::read`] for callers that have no async runtime, such as admin commands.
    ///
    /// # Errors
    /// As [`Pool::read`].
    pub fn read_blocking<T, E: From<DbError>>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, E>,
    ) -> Result<T, E> {
        work(&mut self.inner.connections.checkout()?.db)
    }

    /// [`Pool::write_tx`] for callers that have no async runtime, such as admin commands.
    ///
    /// # Errors
    /// As [`Pool::write_tx`].
    pub fn write_tx_blocking<T, E: From<DbError>>(
        &self,
        work: impl FnOnce(&mut Db) -> Result<T, E>,
    ) -> Result<T, E> {
        transaction(&mut *self.inner.connections.checkout()?, work)
    }

    /// Opens a connection that is none of the pool's, for who listens all the time. Blocks.
    ///
    /// # Errors
    /// [`DbError::Unreachable`] when the database does not answer.
    pub fn dedicated(&self) -> Result<Db, DbError> {
        Manager::new(self.inner.options.url.clone())
            .open()
            .map(|managed| managed.db)
            .map_err(|error| DbError::Unreachable(error.to_string()))
    }

    /// Asks the database for a sign of life.
    ///
    /// # Errors
    /// [`DbError`] when there is none.
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
            Err(missed) => Err(self.missed(missed).into()),
        }
    }

    /// Does `work`, which counts its statements, on a connection.
    async fn on<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Managed) -> (Result<T, E>, u64) + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let connections = self.inner.connections.clone();
        let work = move || match connections.checkout() {
            Ok(mut managed) => work(&mut managed),
            Err(error) => (Err(error.into()), 0),
        };
        let options = &self.inner.options;
        // A thread goes on waiting, with its connection, for the server or the network to give it up; the caller
        // does not.
        let workers = &self.inner.workers;
        let done = workers.run(options.acquire_timeout, options.answer_timeout, work);
        self.outcome(done.await)
    }

    /// Waits for the result of work on this pool.
    pub(crate) async fn wait_for<T, E: From<DbError>>(
        &self,
        pending: Pending<(Result<T, E>, u64)>,
    ) -> Result<T, E> {
        let options = &self.inner.options;
        let done = pending.outcome(options.acquire_timeout, options.answer_timeout);
        self.outcome(done.await)
    }

    fn outcome<T, E: From<DbError>>(
        &self,
        done: Result<(Result<T, E>, u64), Missed>,
    ) -> Result<T, E> {
        match done {
            Ok((outcome, statements)) => {
                round_trips::add(statements);
                outcome
            }
            Err(missed) => Err(self.missed(missed).into()),
        }
    }

    /// Why there is no result; a panic goes on where the work was asked for.
    pub(crate) fn missed(&self, missed: Missed) -> DbError {
        match missed {
            Missed::Panicked(panic) => std::panic::resume_unwind(panic),
            Missed::Full | Missed::Turn => {
                self.inner.refused.fetch_add(1, Ordering::Relaxed);
                DbError::Busy
            }
            Missed::End => DbError::Unreachable("no answer in time".to_owned()),
            Missed::Closed => DbError::Unreachable("the pool is closed".to_owned()),
        }
    }

    /// A connection, for a thread that may block.
    pub(crate) fn checkout(&self) -> Result<PooledConnection<Manager>, DbError> {
        self.inner.connections.checkout()
    }
}

impl Connections {
    fn checkout(&self) -> Result<PooledConnection<Manager>, DbError> {
        loop {
            let conn = self
                .pool
                .get()
                .map_err(|error| DbError::Unreachable(error.to_string()))?;
            // A connection of before the last outage is dead; dropping it makes room for a fresh one.
            if conn.generation == self.generation.load(Ordering::Acquire) {
                return Ok(conn);
            }
        }
    }
}

/// The most connections.
fn size(options: &PoolOptions) -> usize {
    usize::try_from(options.size).unwrap_or(usize::MAX)
}

/// r2d2 reports every failed attempt to connect; callers get their own error, so that this is detail.
#[derive(Debug)]
struct LogQuietly;

impl<E: std::error::Error> r2d2::HandleError<E> for LogQuietly {
    fn handle_error(&self, error: E) {
        log::debug!("opening a database connection failed: {error}");
    }
}
