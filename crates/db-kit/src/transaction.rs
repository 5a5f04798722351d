//! A write by itself: a statement, or a transaction.

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};

use crate::connection::Managed;
use crate::{Db, DbError};

/// What a write is by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One statement: what it has written stays, whatever its caller makes of it.
    Statement,
    /// All or nothing.
    Transaction,
}

/// SQLite takes the write lock at once: a transaction that reads first and writes later would fail as soon as another one
/// wrote in between.
pub(crate) fn begin(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::begin_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE"),
    }
}

/// A transaction inside of one.
pub(crate) fn savepoint(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::begin_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction(conn),
    }
}

pub(crate) fn end(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::commit_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::commit_transaction(conn),
    }
}

pub(crate) fn undo(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::rollback_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::rollback_transaction(conn),
    }
}

/// Does `work` as one of a kind, and has it on the disk before it says what it came to.
pub(crate) fn alone<T, E: From<DbError>>(
    managed: &mut Managed,
    kind: Kind,
    work: impl FnOnce(&mut Db) -> Result<T, E>,
) -> Result<T, E> {
    managed.check()?;
    let outcome = match kind {
        Kind::Statement => {
            let _commit = managed.log.as_ref().map(|log| log.commit());
            work(&mut managed.db)
        }
        Kind::Transaction => transaction(managed, work),
    };
    managed.flush()?;
    outcome
}

/// Commits, where a log is flushed apart without its flush.
pub(crate) fn commit(managed: &mut Managed) -> QueryResult<()> {
    let _commit = managed.log.as_ref().map(|log| log.commit());
    end(&mut managed.db)
}

/// Does `work` in a transaction: kept when it returns `Ok`, undone when it does not.
fn transaction<T, E: From<DbError>>(
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
        Ok(_) => commit(managed),
        Err(_) => undo(&mut managed.db),
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
