// The derive below writes public items without documentation and converts with `as`.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::as_conversions,
    reason = "code of diesel's MultiConnection derive"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::prelude::*;
use diesel::r2d2::ManageConnection;
use diesel::{ConnectionError, MultiConnection};

use crate::DatabaseUrl;
use crate::error::is_connection_lost;

/// A connection to either database. One query text serves both; see [`on_backend!`](crate::on_backend) for the rest.
#[derive(MultiConnection)]
pub enum Db {
    /// PostgreSQL.
    Pg(diesel::pg::PgConnection),
    /// SQLite.
    Sqlite(diesel::sqlite::SqliteConnection),
}

impl Db {
    /// Which database this is.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self {
            Self::Pg(_) => Backend::Postgres,
            Self::Sqlite(_) => Backend::Sqlite,
        }
    }
}

/// The kinds of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A server, shared by replicas.
    Postgres,
    /// A file, for one process.
    Sqlite,
}

/// Opens connections by the URL's scheme.
///
/// Diesel's own manager for a multi-connection would try PostgreSQL and then SQLite, and SQLite takes
/// any text as a path: a mistyped server address would silently become an empty file.
pub(crate) struct Manager {
    url: DatabaseUrl,
    /// Counts up when a connection is found dead, so that its idle siblings are not handed out.
    generation: Arc<AtomicU64>,
}

/// A connection with what its pool must know of it.
pub(crate) struct Managed {
    pub(crate) db: Db,
    pub(crate) generation: u64,
    /// Set while a transaction is open: a panic inside leaves it set and the connection is dropped.
    pub(crate) in_transaction: bool,
    lost: Arc<AtomicBool>,
}

impl Managed {
    /// Whether the server cut this connection.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Manager {
    pub(crate) fn new(url: DatabaseUrl) -> Self {
        Self {
            url,
            generation: Arc::new(AtomicU64::new(0)),
        }
    }

    pub(crate) fn generation(&self) -> &Arc<AtomicU64> {
        &self.generation
    }

    fn open(&self) -> Result<Managed, ConnectionError> {
        let generation = self.generation.load(Ordering::Acquire);
        let lost = Arc::new(AtomicBool::new(false));
        let watch = watch_for_loss(Arc::clone(&lost), Arc::clone(&self.generation), generation);
        let db = match self.url.backend() {
            Backend::Postgres => {
                let mut conn = diesel::pg::PgConnection::establish(&postgres_url(&self.url))?;
                // A transaction that writes is short by design; what hangs is cut by the server.
                conn.batch_execute("SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'")
                    .map_err(ConnectionError::CouldntSetupConfiguration)?;
                conn.set_instrumentation(watch);
                Db::Pg(conn)
            }
            Backend::Sqlite => {
                let path = self.url.sqlite_path();
                if let Some(folder) = path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty())
                {
                    std::fs::create_dir_all(folder).map_err(|error| {
                        ConnectionError::BadConnection(format!("{}: {error}", folder.display()))
                    })?;
                }
                let refused = |error: std::io::Error| {
                    ConnectionError::BadConnection(format!("{}: {error}", path.display()))
                };
                make_private(&path).map_err(refused)?;
                let mut conn =
                    diesel::sqlite::SqliteConnection::establish(&path.to_string_lossy())?;
                // The busy timeout comes first: switching to WAL takes a lock itself. FULL: what was
                // answered with yes is on disk.
                conn.batch_execute(
                    "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                     PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024",
                )
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
                conn.set_instrumentation(watch);
                Db::Sqlite(conn)
            }
        };
        Ok(Managed {
            db,
            generation,
            in_transaction: false,
            lost,
        })
    }
}

impl ManageConnection for Manager {
    type Connection = Managed;
    type Error = ConnectionError;

    fn connect(&self) -> Result<Managed, ConnectionError> {
        self.open()
    }

    fn is_valid(&self, _conn: &mut Managed) -> Result<(), ConnectionError> {
        // Connections are not tested at checkout (a round trip each); a lost one is noticed by its first query.
        Ok(())
    }

    fn has_broken(&self, conn: &mut Managed) -> bool {
        conn.in_transaction
            || conn.is_lost()
            || conn.generation != self.generation.load(Ordering::Acquire)
    }
}

/// Makes the file of a new database for its owner only; SQLite would let everybody read it, and gives
/// its journal files the same mode.
fn make_private(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Notices, from each query's outcome, that the server is gone.
fn watch_for_loss(
    lost: Arc<AtomicBool>,
    generation: Arc<AtomicU64>,
    born: u64,
) -> impl FnMut(InstrumentationEvent<'_>) + Send + 'static {
    move |event| {
        if let InstrumentationEvent::FinishQuery {
            error: Some(error), ..
        } = event
            && is_connection_lost(error)
        {
            lost.store(true, Ordering::Relaxed);
            // One step for all who notice the same outage.
            let _ =
                generation.compare_exchange(born, born + 1, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// The URL with a limit on how long connecting may take, unless it sets one itself.
fn postgres_url(url: &DatabaseUrl) -> String {
    let text = url.expose();
    if text.contains("connect_timeout=") {
        return text.to_owned();
    }
    let separator = if text.contains('?') { '&' } else { '?' };
    format!("{text}{separator}connect_timeout=2")
}
