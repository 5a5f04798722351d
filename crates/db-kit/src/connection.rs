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
    seen: Arc<Seen>,
}

/// What is seen on a connection.
#[derive(Default)]
struct Seen {
    /// That the server is gone.
    lost: AtomicBool,
    /// Statements that were run, those of transactions among them.
    statements: AtomicU64,
}

impl Managed {
    /// Whether the server cut this connection.
    pub(crate) fn is_lost(&self) -> bool {
        self.seen.lost.load(Ordering::Relaxed)
    }

    /// Does `work`, and says how many statements it ran.
    pub(crate) fn counting<T>(&mut self, work: impl FnOnce(&mut Db) -> T) -> (T, u64) {
        let before = self.statements();
        let outcome = work(&mut self.db);
        (outcome, self.statements() - before)
    }

    /// Statements that were run on it until now.
    pub(crate) fn statements(&self) -> u64 {
        self.seen.statements.load(Ordering::Relaxed)
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

    pub(crate) fn open(&self) -> Result<Managed, ConnectionError> {
        let generation = self.generation.load(Ordering::Acquire);
        let seen = Arc::new(Seen::default());
        let (seen_here, counter) = (Arc::clone(&seen), Arc::clone(&self.generation));
        let watch = move || watch(seen_here, counter, generation);
        let db = match self.url.backend() {
            Backend::Postgres => {
                let mut conn = diesel::pg::PgConnection::establish(&postgres_url(&self.url))?;
                // A transaction that writes is short by design; what hangs is cut by the server. Every statement has its
                // index: a plan is kept, and one that was made while a table was small would read the whole of it when
                // it has grown. Where nothing else will do the table is read all the same, and compiles nothing for it.
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
                // The busy timeout comes first: switching to WAL takes a lock itself. FULL: what was
                // answered with yes is on disk.
                conn.batch_execute(
                    "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                     PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -1024",
                )
                .map_err(ConnectionError::CouldntSetupConfiguration)?;
                conn.set_instrumentation(watch());
                Db::Sqlite(conn)
            }
        };
        Ok(Managed {
            db,
            generation,
            in_transaction: false,
            seen,
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

/// Counts statements, and notices from each one's outcome that the server is gone. Whoever looks at all connections of the
/// process (`diesel::connection::set_default_instrumentation`) goes on seeing what happens on this one.
fn watch(
    seen: Arc<Seen>,
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
                // One step for all who notice the same outage.
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

/// What libpq is to do about a server that says nothing any more, unless the URL says it itself: give up
/// connecting, and notice within seconds, not the system's two hours, that a server lost its power or its
/// network, so that the connection makes room for one to its successor. The last is in milliseconds.
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
