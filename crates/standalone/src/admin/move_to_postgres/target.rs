//! One of the three databases, from the first check to the commit.

use std::collections::{BTreeMap, BTreeSet};

use db_kit::{DatabaseUrl, Db, DbError, Pool, PoolOptions, migrations};
use diesel::PgConnection;
use diesel::connection::{AnsiTransactionManager, TransactionManager as _};
use rusqlite::Connection;

use super::cell::TableChecksum;
use super::{copy, plan, queries};
use crate::admin::database::{self, queries as sqlite};
use crate::admin::error::{AdminError, in_file};
use crate::admin::parts::PartDatabase;

/// A table that was copied.
#[derive(Debug)]
pub(super) struct MovedTable {
    /// The part to which it belongs.
    pub(super) part: &'static str,
    pub(super) table: String,
    /// The checksum of its content, the same on both sides.
    pub(super) checksum: TableChecksum,
}

/// A SQLite file that nobody else has open, and the database to which it is copied.
pub(super) struct MoveTarget {
    part: PartDatabase,
    from: Connection,
    to: PgConnection,
    pool: Pool,
}

impl MoveTarget {
    /// Opens both. The target must be empty, or have only the part's own tables without rows.
    ///
    /// # Errors
    /// A sentence when it does not.
    pub(super) fn open(part: &PartDatabase, url: DatabaseUrl) -> Result<Self, AdminError> {
        let from = database::open_whole(part)?;
        let pool = Pool::open(PoolOptions::new(url, 1));
        let failed = |cause: DbError| AdminError::Postgres(part.name, cause);
        let Db::Pg(to) = pool.dedicated().map_err(failed)? else {
            return Err(AdminError::refused(format!(
                "the target of the {} database is not PostgreSQL",
                part.name
            )));
        };
        let mut target = Self {
            part: part.clone(),
            from,
            to,
            pool,
        };
        target.asked(queries::set_up)?;
        if !target.asked(queries::take)? {
            return Err(AdminError::refused(format!(
                "the database for {} is also given for another part, or another move is running",
                part.name
            )));
        }
        target.refuse_full()?;
        Ok(target)
    }

    /// Creates the tables.
    ///
    /// # Errors
    /// [`AdminError::Postgres`].
    pub(super) fn migrate(&self) -> Result<(), AdminError> {
        migrations::run(&self.pool, self.part.migrations)
            .map(drop)
            .map_err(|cause| AdminError::Postgres(self.part.name, cause))
    }

    /// Copies all tables in a transaction that stays open.
    ///
    /// # Errors
    /// A sentence; the transaction then ends with the connection and changes nothing.
    pub(super) fn copy(&mut self) -> Result<Vec<MovedTable>, AdminError> {
        let part = self.part.name;
        self.asked(AnsiTransactionManager::begin_transaction)?;
        let tables = self.plan()?;
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        self.asked(|db| queries::lock(db, &names))?;
        // Somebody may have written to it since the first check.
        self.refuse_full()?;
        let mut moved = Vec::new();
        for table in &tables {
            let checksum = copy::table(&self.from, &mut self.to, table)
                .map_err(|cause| AdminError::refused(format!("{part}: {}: {cause}", table.name)))?;
            log::info!("{part}: copied {} rows of {}", checksum.rows, table.name);
            moved.push(MovedTable {
                part,
                table: table.name.clone(),
                checksum,
            });
        }
        Ok(moved)
    }

    /// Commits what was copied.
    ///
    /// # Errors
    /// [`AdminError::Postgres`].
    pub(super) fn commit(&mut self) -> Result<(), AdminError> {
        self.asked(AnsiTransactionManager::commit_transaction)
    }

    /// Updates the planner's statistics.
    ///
    /// # Errors
    /// [`AdminError::Postgres`].
    pub(super) fn analyze(&mut self) -> Result<(), AdminError> {
        self.asked(queries::analyze)
    }

    fn plan(&mut self) -> Result<Vec<plan::Table>, AdminError> {
        let here = self.sqlite_columns()?;
        let there = self.asked(queries::columns)?;
        let references = self.asked(queries::references)?;
        plan::tables(&here, there, &references)
            .map_err(|why| AdminError::refused(format!("{}: {why}", self.part.name)))
    }

    fn sqlite_columns(&self) -> Result<BTreeMap<String, BTreeSet<String>>, AdminError> {
        let mut columns = BTreeMap::new();
        for table in sqlite::tables(&self.from).map_err(in_file(&self.part.file))? {
            let found = queries::sqlite_columns(&self.from, &table);
            let found = found.map_err(in_file(&self.part.file))?;
            columns.insert(table, found.into_iter().collect());
        }
        Ok(columns)
    }

    fn refuse_full(&mut self) -> Result<(), AdminError> {
        let part = self.part.name;
        let own = sqlite::tables(&self.from).map_err(in_file(&self.part.file))?;
        for table in self.asked(queries::tables)? {
            if !own.contains(&table) {
                return Err(AdminError::refused(format!(
                    "the database for {part} has a table {table} of something else; the part needs its own database"
                )));
            }
            if self.asked(|db| queries::has_rows(db, &table))? {
                return Err(AdminError::refused(format!(
                    "the database for {part} is not empty: {table} has rows; drop and recreate it, or choose another one"
                )));
            }
        }
        Ok(())
    }

    fn asked<T>(
        &mut self,
        question: impl FnOnce(&mut PgConnection) -> diesel::QueryResult<T>,
    ) -> Result<T, AdminError> {
        question(&mut self.to).map_err(|cause| AdminError::Postgres(self.part.name, cause.into()))
    }
}
