//! Transactions on either database.

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};

use crate::connection::TrackedConnection;
use crate::{Db, DbError, on_backend};

/// Begins a transaction. On SQLite it takes the write lock at once: a transaction that reads first and writes later would fail if
/// another one wrote in between.
pub(crate) fn begin(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::begin_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE"),
    }
}

/// Begins a savepoint in an open transaction.
pub(crate) fn begin_nested(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => AnsiTransactionManager::begin_transaction(conn))
}

/// Commits the innermost transaction, or releases the innermost savepoint.
pub(crate) fn commit(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => AnsiTransactionManager::commit_transaction(conn))
}

/// Rolls back the innermost transaction or savepoint.
pub(crate) fn roll_back(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => AnsiTransactionManager::rollback_transaction(conn))
}

/// Runs `work` in a transaction, which commits on `Ok` and rolls back on `Err`.
pub(crate) fn transaction<T, E: From<DbError>>(
    managed: &mut TrackedConnection,
    work: impl FnOnce(&mut Db) -> Result<T, E>,
) -> Result<T, E> {
    managed.in_transaction = true;
    if let Err(error) = begin(&mut managed.db) {
        // On SQLite nothing is open. On PostgreSQL a failed BEGIN is a lost connection, and is detected as one.
        managed.in_transaction = false;
        return Err(DbError::from(error).into());
    }
    let outcome = work(&mut managed.db);
    let ended = match outcome {
        Ok(_) => commit(&mut managed.db),
        Err(_) => roll_back(&mut managed.db),
    };
    match (outcome, ended) {
        (outcome, Ok(())) => {
            managed.in_transaction = false;
            outcome
        }
        // The flag stays set, so the pool drops the connection, which rolls back.
        (Ok(_), Err(error)) => Err(DbError::from(error).into()),
        (Err(error), Err(rollback)) => {
            log::debug!("a rollback failed: {rollback}");
            Err(error)
        }
    }
}
