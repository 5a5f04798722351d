//! Embedded migrations, applied under a lock, so that replicas that start together apply each one once.

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness};

use crate::{Db, DbError, Pool};

/// The key of the advisory lock that PostgreSQL replicas take while they migrate.
const LOCK_KEY: i64 = 0x686f_6c64_6661_7374;

/// One service's migrations for both databases. The two folders contain migrations of the same names.
#[derive(Clone, Copy)]
pub struct Migrations {
    /// `migrations/NAME/postgres`.
    pub postgres: &'static EmbeddedMigrations,
    /// `migrations/NAME/sqlite`.
    pub sqlite: &'static EmbeddedMigrations,
}

/// Applies the pending migrations and returns their versions.
///
/// # Errors
/// [`DbError`] when the database is unreachable or a migration fails. On PostgreSQL, the migrations before it stay applied.
pub fn run(pool: &Pool, migrations: Migrations) -> Result<Vec<String>, DbError> {
    pool.read_blocking(|db| match db {
        Db::Pg(conn) => {
            // A migration may take longer than a request, and another replica may hold the lock just as long.
            conn.batch_execute("SET statement_timeout = 0")?;
            let lock = diesel::sql_query("SELECT pg_advisory_lock($1)");
            lock.bind::<BigInt, _>(LOCK_KEY).execute(conn)?;
            let applied = apply(conn, migrations.postgres);
            let unlock = diesel::sql_query("SELECT pg_advisory_unlock($1)");
            unlock.bind::<BigInt, _>(LOCK_KEY).execute(conn)?;
            conn.batch_execute("SET statement_timeout = '10s'")?;
            applied
        }
        Db::Sqlite(conn) => {
            // One write lock covers all migrations: of several processes, the first one applies them.
            AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE")?;
            let applied = apply(conn, migrations.sqlite);
            if applied.is_ok() {
                AnsiTransactionManager::commit_transaction(conn)?;
            } else {
                AnsiTransactionManager::rollback_transaction(conn)?;
            }
            applied
        }
    })
}

/// Returns the names of the migrations that the database lacks.
///
/// # Errors
/// [`DbError`] when the database is unreachable.
pub fn pending(db: &mut Db, migrations: Migrations) -> Result<Vec<String>, DbError> {
    let names = match db {
        Db::Pg(conn) => names(conn.pending_migrations(BorrowedMigrations(migrations.postgres))),
        Db::Sqlite(conn) => names(conn.pending_migrations(BorrowedMigrations(migrations.sqlite))),
    };
    names.map_err(|error| DbError::Unreachable(error.to_string()))
}

/// Embedded migrations, which are not `Clone`, lent to a harness that wants to own its source.
struct BorrowedMigrations(&'static EmbeddedMigrations);

impl<DB: diesel::backend::Backend> MigrationSource<DB> for BorrowedMigrations {
    fn migrations(&self) -> diesel::migration::Result<Vec<Box<dyn Migration<DB>>>> {
        self.0.migrations()
    }
}

fn apply<C, DB>(conn: &mut C, source: &'static EmbeddedMigrations) -> Result<Vec<String>, DbError>
where
    DB: diesel::backend::Backend,
    C: MigrationHarness<DB>,
{
    let versions = conn
        .run_pending_migrations(BorrowedMigrations(source))
        .map_err(|error| DbError::Unreachable(format!("migration failed: {error}")))?;
    Ok(versions.iter().map(ToString::to_string).collect())
}

fn names<DB: diesel::backend::Backend>(
    pending: diesel::migration::Result<Vec<Box<dyn Migration<DB>>>>,
) -> diesel::migration::Result<Vec<String>> {
    Ok(pending?
        .iter()
        .map(|migration| migration.name().to_string())
        .collect())
}
