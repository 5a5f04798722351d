//! Queries on a SQLite file, whatever its tables are.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result};

/// Takes the write lock.
pub(crate) fn begin_write(db: &Connection) -> Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")
}

/// Opens a read snapshot: until the end of the transaction, reads show the state of now.
pub(crate) fn begin_snapshot(db: &Connection) -> Result<()> {
    // SQLite opens it at the first read, not at BEGIN.
    db.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")
}

/// Locks the file for this connection until it is closed; `SQLITE_BUSY` if another one has it open.
///
/// With a write-ahead log, every other connection holds a lock as long as it is open, even an idle one.
pub(crate) fn take_alone(db: &Connection) -> Result<()> {
    db.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK")
}

/// Removes the write-ahead log, so that the file is complete by itself.
pub(crate) fn into_one_file(db: &Connection) -> Result<()> {
    db.execute_batch("PRAGMA journal_mode = DELETE")
}

/// Turns syncing off; the caller syncs the file at the end.
pub(crate) fn sync_later(db: &Connection) -> Result<()> {
    db.execute_batch("PRAGMA synchronous = OFF")
}

/// Returns what is wrong with the file, if anything: its pages, indexes, constraints or references.
pub(crate) fn complaint(db: &Connection) -> Result<Option<String>> {
    let verdict: String = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Ok(Some(verdict));
    }
    let mut check = db.prepare("PRAGMA foreign_key_check")?;
    let mut rows = check.query([])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let (table, referred): (String, String) = (row.get(0)?, row.get(2)?);
    Ok(Some(format!(
        "a row of {table} refers to a row of {referred} that does not exist"
    )))
}

/// Lists the tables that the migrations created, by name.
pub(crate) fn tables(db: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' \
               AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> '__diesel_schema_migrations' ORDER BY name";
    db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Counts the rows of each table.
pub(crate) fn counts(db: &Connection) -> Result<BTreeMap<String, i64>> {
    let mut counts = BTreeMap::new();
    for table in tables(db)? {
        let sql = format!("SELECT count(*) FROM {}", quoted(&table));
        let rows = db.query_row(&sql, [], |row| row.get(0))?;
        counts.insert(table, rows);
    }
    Ok(counts)
}

/// Returns the versions of the applied migrations, oldest first; none for a file without tables.
pub(crate) fn versions(db: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = '__diesel_schema_migrations'";
    let is_there: i64 = db.query_row(sql, [], |row| row.get(0))?;
    if is_there == 0 {
        return Ok(Vec::new());
    }
    let sql = "SELECT version FROM __diesel_schema_migrations ORDER BY version";
    db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// Quotes a name for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
