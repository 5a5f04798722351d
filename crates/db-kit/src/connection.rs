// The derive below generates undocumented public items and conversions with `as`.
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

/// A connection to either database. Most query texts run on both; for the others, see [`on_backend!`](crate::on_backend).
#[derive(MultiConnection)]
pub enum Db {
    /// PostgreSQL.
    Pg(diesel::pg::PgConnection),
    /// SQLite.
    Sqlite(diesel::sqlite::SqliteConnection),
}

impl Db {
    /// Returns the kind of database.
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
    /// A server, which replicas share.
    Postgres,
    /// A file, which one process uses.
    Sqlite,
}

/// The manager of a pool's connections, which opens them according to the URL's scheme.
///
/// Diesel's own manager for a multi-connection tries PostgreSQL and then SQLite, which takes any text as a path. A mistyped
/// server address would silently create an empty file.
pub(crate) struct ConnectionManager {
    url: DatabaseUrl,
    /// Grows when a connection is found dead, so that its idle siblings are not handed out.
    generation: Arc<AtomicU64>,
}

/// A connection and what its pool has to know about it.
pub(crate) struct TrackedConnection {
    pub(crate) db: Db,
    pub(crate) generation: u64,
    /// Whether a transaction is open. A panic leaves it set, and the pool drops the connection.
    pub(crate) in_transaction: bool,
    seen: Arc<ConnectionActivity>,
}

/// What the instrumentation observes on a connection.
#[derive(Default)]
struct ConnectionActivity {
    /// Whether the server is gone.
    lost: AtomicBool,
    /// Executed statements, including those that begin and end transactions.
    statements: AtomicU64,
}

impl TrackedConnection {
    /// Whether the server closed this connection.
    pub(crate) fn is_lost(&self) -> bool {
        self.seen.lost.load(Ordering::Relaxed)
    }

    /// Runs `work`, and returns its result with the number of statements that it executed.
    pub(crate) fn counting<T>(&mut self, work: impl FnOnce(&mut Db) -> T) -> (T, u64) {
        let before = self.statements();
        let outcome = work(&mut self.db);
        (outcome, self.statements() - before)
    }

    /// Returns the number of statements executed on it so far.
    pub(crate) fn statements(&self) -> u64 {
        self.seen.statements.load(Ordering::Relaxed)
    }
}

impl ConnectionManager {
    pub(crate) fn new(url: DatabaseUrl) -> Self {
        Self {
            url,
            generation: Arc::new(AtomicU64::new(0)),
        }
    }

    pub(crate) fn generation(&self) -> &Arc<AtomicU64> {
        &self.generation
    }

    pub(crate) fn open(&self) -> Result<TrackedConnection, ConnectionError> {
        let generation = self.generation.load(Ordering::Acquire);
        let seen = Arc::new(ConnectionActivity::default());
        let (seen_here, counter) = (Arc::clone(&seen), Arc::clone(&self.generation));
        let watch = move || watch(seen_here, counter, generation);
        let db = match self.url.backend() {
            Backend::Postgres => {
                let mut conn = diesel::pg::PgConnection::establish(&postgres_url(&self.url))?;
                // Write transactions are short by design, so the server cancels those that hang. Every statement has an index: a
                // plan is cached, and one made while a table was small would still scan it after it has grown. Where no index
                // applies, the table is scanned all the same, without JIT compilation. A statement with a JSON argument looks ids up
                // by an array, `= ANY (ARRAY(SELECT …))`: a join would keep a plan that reads the whole index.
                conn.batch_execute(
                    "SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'; \
                     SET enable_seqscan = off; SET jit = off",
                )
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
                conn.set_instrumentation(watch());
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
                // The busy timeout comes first, because the switch to WAL takes a lock. FULL: a write that was acknowledged is on
                // disk.
                conn.batch_execute(
                    "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                     PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024",
                )
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
                conn.set_instrumentation(watch());
                Db::Sqlite(conn)
            }
        };
        Ok(TrackedConnection {
            db,
            generation,
            in_transaction: false,
            seen,
        })
    }
}

impl ManageConnection for ConnectionManager {
    type Connection = TrackedConnection;
    type Error = ConnectionError;

    fn connect(&self) -> Result<TrackedConnection, ConnectionError> {
        self.open()
    }

    fn is_valid(&self, _conn: &mut TrackedConnection) -> Result<(), ConnectionError> {
        // A test at checkout would cost a round trip; the first query notices that a connection is lost.
        Ok(())
    }

    fn has_broken(&self, conn: &mut TrackedConnection) -> bool {
        conn.in_transaction
            || conn.is_lost()
            || conn.generation != self.generation.load(Ordering::Acquire)
    }
}

/// Creates the file of a new database with mode 0600. SQLite would create it readable for everybody, and it gives its journal
/// files the same mode.
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

/// Counts statements, and detects from their outcomes that the server is gone. Passes each event on to the instrumentation of the
/// process (`diesel::connection::set_default_instrumentation`).
fn watch(
    seen: Arc<ConnectionActivity>,
    generation: Arc<AtomicU64>,
    born: u64,
) -> impl FnMut(InstrumentationEvent<'_>) + Send + 'static {
    let mut others = diesel::connection::get_default_instrumentation();
    move |event| {
        match &event {
            InstrumentationEvent::StartQuery { .. } => {
                seen.statements.fetch_add(1, Ordering::Relaxed);
            }
            InstrumentationEvent::FinishQuery {
                error: Some(error), ..
            } if is_connection_lost(error) => {
                seen.lost.store(true, Ordering::Relaxed);
                // All who notice the same outage increment it once.
                let _ = generation.compare_exchange(
                    born,
                    born + 1,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
            }
            _ => {}
        }
        if let Some(others) = &mut others {
            others.on_connection_event(event);
        }
    }
}

/// Parameters with which libpq handles a silent server, unless the URL sets its own. They limit the time to connect, and detect
/// within seconds, not the system's two hours, that a server lost its power or network. The dead connection then makes room for
/// its successor. The last value is in milliseconds.
const LIVENESS: [(&str, &str); 5] = [
    ("connect_timeout", "2"),
    ("keepalives_idle", "5"),
    ("keepalives_interval", "2"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "10000"),
];

fn postgres_url(url: &DatabaseUrl) -> String {
    let mut text = url.expose().to_owned();
    for (name, value) in LIVENESS {
        if !text.contains(&format!("{name}=")) {
            let separator = if text.contains('?') { '&' } else { '?' };
            text.push_str(&format!("{separator}{name}={value}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_silent_server_is_noticed_as_soon_as_the_url_says_or_within_seconds() {
        let with = |url: &str| postgres_url(&url.parse().unwrap());
        assert_eq!(
            with("postgres://u@h/d"),
            "postgres://u@h/d?connect_timeout=2&keepalives_idle=5&keepalives_interval=2\
             &keepalives_count=3&tcp_user_timeout=10000"
        );
        let own = with("postgres://u@h/d?connect_timeout=9&keepalives_idle=60");
        assert!(own.starts_with(
            "postgres://u@h/d?connect_timeout=9&keepalives_idle=60&keepalives_interval=2&"
        ));
        assert_eq!(own.matches("connect_timeout=").count(), 1, "{own}");
    }
}
