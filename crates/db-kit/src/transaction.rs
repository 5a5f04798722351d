//! Transactions on either database.

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};

use crate::connection::Managed;
use crate::{Db, DbError, on_backend};

/// SQLite takes the write lock at once: a transaction that reads first and writes later would fail as soon as another one
/// wrote in between.
pub(crate) fn begin(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::begin_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE"),
    }
}

/// A savepoint in an open transaction.
pub(crate) fn begin_nested(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => AnsiTransactionManager::begin_transaction(conn))
}

/// Ends the innermost transaction or savepoint and keeps what it wrote.
pub(crate) fn commit(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => AnsiTransactionManager::commit_transaction(conn))
}

/// Ends the innermost transaction or savepoint and undoes what it wrote.
pub(crate) fn roll_back(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => AnsiTransactionManager::rollback_transaction(conn))
}

/// Does `work` in a transaction: kept when it returns `Ok`, undone when it does not.
pub(crate) fn transaction<T, E: From<DbError>>(
    managed: &mut Managed,
    work: impl FnOnce(&mut Db) -> Result<T, E>,
) -> Result<T, E> {
    managed.in_transaction = true;
    if let Err(error) = begin(&mut managed.db) {
        // Nothing is open on SQLite; a failed BEGIN on PostgreSQL is a lost connection and noticed as such.
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
        // The connection keeps its mark and is dropped, which rolls back.
        (Ok(_), Err(error)) => Err(DbError::from(error).into()),
        (Err(error), Err(rollback)) => {
            log::debug!("a rollback failed: {rollback}");
            Err(error)
        }
    }
}
