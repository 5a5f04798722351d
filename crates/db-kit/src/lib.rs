//! One data layer over PostgreSQL and SQLite: the connection enum [`Db`], a [`Pool`] that opens it by URL, reads and write
//! transactions off the async threads, the outbox and the inbox.
//!
//! It knows no table of any service except `outbox` and `inbox`. The migrations of each service that needs these two copy their
//! definition from `sql/`.

// Linked only for their `bundled` features, through which Diesel finds the C libraries.
use libsqlite3_sys as _;
use pq_sys as _;

mod as_utc;
mod batch_queue;
mod batcher;
mod connection;
mod error;
pub mod inbox;
pub mod json;
pub mod migrations;
mod named;
pub mod outbox;
mod pool;
mod round_trips;
mod schema;
mod statement;
mod transaction;
mod url;
mod workers;
mod writer;

pub use as_utc::AsUtc;
pub use batcher::Batcher;
pub use connection::{Backend, Db};
pub use error::{DbError, is_unique_violation};
pub use migrations::Migrations;
pub use named::{NamedValues, bind_named, execute_named};
pub use pool::{Pool, PoolOptions, PoolUsage};
pub use round_trips::counted;
pub use statement::{Statement, statement};
pub use url::{DatabaseUrl, InvalidDatabaseUrl};
pub use workers::{JobError, Workers};

/// The Diesel backend of [`Db`], for `Queryable` bounds and boxed queries.
pub use connection::MultiBackend as DbBackend;

/// The limit up to which rows of a backlog are counted, so that its length does not affect the cost.
pub const COUNTED: i64 = 10_000;

/// Runs one query text on the backend of the connection.
///
/// Most queries run on [`Db`] itself. Conflict clauses, `as_returning()` and locking do not, because Diesel implements them per
/// backend. The macro expands the body once for each of them.
///
/// ```text
/// on_backend!(db, c => diesel::insert_into(outbox::table).values(&row).on_conflict_do_nothing().execute(c))
/// ```
#[macro_export]
macro_rules! on_backend {
    ($db:expr, $conn:ident => $body:expr) => {
        match $db {
            $crate::Db::Pg($conn) => $body,
            $crate::Db::Sqlite($conn) => $body,
        }
    };
}
