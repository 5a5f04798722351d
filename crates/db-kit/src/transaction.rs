//! A write by itself: a statement, or a transaction.

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::{QueryResult, RunQueryDsl};

use crate::connection::Managed;
use crate::{Db, DbError, on_backend, prepared};

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

fn end(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::commit_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::commit_transaction(conn),
    }
}

fn undo(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::rollback_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::rollback_transaction(conn),
    }
}

/// A write among others in a transaction of SQLite's, which is undone without them. Kept prepared, where Diesel's own
/// transaction inside of one is parsed each time.
pub(crate) fn begin_piece(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => prepared::<()>(|| "SAVEPOINT piece").execute(conn)).map(drop)
}

pub(crate) fn keep_piece(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => prepared::<()>(|| "RELEASE piece").execute(conn)).map(drop)
}

pub(crate) fn undo_piece(db: &mut Db) -> QueryResult<()> {
    on_backend!(db, conn => prepared::<()>(|| "ROLLBACK TO piece").execute(conn))?;
    keep_piece(db)
}

/// Does several reads. On SQLite they are of one moment: its locks are asked for once then, and pages that one has read are
/// there for the next, which is not so after a commit of somebody else's in between.
pub(crate) fn reads<T>(managed: &mut Managed, work: impl FnOnce(&mut Db) -> T) -> T {
    let begun = match &mut managed.db {
        Db::Pg(_) => false,
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN").is_ok(),
    };
    // A connection that is given back with this mark is closed.
    managed.in_transaction = begun;
    let outcome = work(&mut managed.db);
    if begun && end(&mut managed.db).is_ok() {
        managed.in_transaction = false;
    }
    outcome
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::log::tests::{kept, pool, write};

    #[test]
    fn reads_that_panic_leave_no_old_moment_behind() {
        let folder = tempfile::tempdir().unwrap();
        let pool = pool(folder.path(), 1);
        let mut managed = pool.get().unwrap();
        let panics = || {
            reads(&mut managed, |db| {
                assert_eq!(kept(db), 0);
                panic!("on purpose")
            })
        };
        catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        drop(managed);
        let mut managed = pool.get().unwrap();
        write(&mut managed.db).unwrap();
        assert_eq!(reads(&mut managed, kept), 1);
        drop(managed);
        let mut managed = pool.get().unwrap();
        assert_eq!(
            alone(&mut managed, Kind::Transaction, |db| Ok::<_, DbError>(
                kept(db)
            ))
            .unwrap(),
            1
        );
    }
}
