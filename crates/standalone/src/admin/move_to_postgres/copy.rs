//! The copy of one table, in batches of bounded size, and its comparison with the source.

use diesel::PgConnection;
use rusqlite::Connection;
use serde_json::Value;
use thiserror::Error;

use super::cell::{Cell, TableChecksum};
use super::plan::Table;
use super::queries;

/// A batch ends with the row that makes it longer than this, in bytes of JSON.
const BATCH_BYTES: usize = 1 << 20;
/// A batch ends with this many rows.
const BATCH_ROWS: usize = 2_000;

/// Why a table could not be copied.
#[derive(Debug, Error)]
pub(super) enum CopyError {
    #[error("the SQLite file: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The PostgreSQL database failed.
    #[error("{0}")]
    Postgres(#[from] diesel::result::Error),
    /// A value cannot be stored in PostgreSQL.
    #[error("{column} of {table}, in the row with {key}, {why}; correct the row and start again")]
    Value {
        /// The table of the column.
        table: String,
        column: String,
        /// The key that finds the row.
        key: String,
        /// What is wrong with the value.
        why: &'static str,
    },
    /// The rows that arrived differ from those that were sent.
    #[error("the content of {0} differs after the copy")]
    Differs(String),
}

/// Copies a table, and compares what arrived with what was sent.
pub(super) fn table(
    from: &Connection,
    to: &mut PgConnection,
    table: &Table,
) -> Result<TableChecksum, CopyError> {
    let (sent, longest) = send(from, to, table)?;
    for (column, sequence) in &table.sequences {
        let last = queries::highest_key(from, &table.name, column)?;
        if last > 0 {
            queries::set_sequence(to, sequence, last)?;
        }
    }
    let arrived = read_back(
        to,
        table,
        (BATCH_BYTES / longest.max(1)).clamp(1, BATCH_ROWS),
    )?;
    if arrived != sent {
        return Err(CopyError::Differs(table.name.clone()));
    }
    Ok(sent)
}

fn names(table: &Table) -> Vec<String> {
    table.columns.iter().map(|(name, _)| name.clone()).collect()
}

/// Returns what was sent, and the length of the longest row.
fn send(
    from: &Connection,
    to: &mut PgConnection,
    table: &Table,
) -> Result<(TableChecksum, usize), CopyError> {
    let columns = names(table);
    let mut checksum = TableChecksum::default();
    let mut longest = 0;
    let mut batch = Batch::default();
    queries::read_sqlite(from, &table.name, &table.columns, |row| {
        let cells = cells_of(row, table)?;
        checksum.add(&cells);
        let length = batch.add(&columns, &cells);
        longest = longest.max(length);
        if batch.is_full() {
            batch.insert(to, &table.name, &columns)?;
        }
        Ok::<_, CopyError>(())
    })?;
    batch.insert(to, &table.name, &columns)?;
    Ok((checksum, longest))
}

fn cells_of(row: &rusqlite::Row<'_>, table: &Table) -> Result<Vec<Cell>, CopyError> {
    let mut cells = Vec::with_capacity(table.columns.len());
    for (at, (column, kind)) in table.columns.iter().enumerate() {
        let cell = Cell::of_sqlite(row.get_ref(at)?, *kind);
        cells.push(cell.map_err(|why| CopyError::Value {
            table: table.name.clone(),
            column: column.clone(),
            key: key_of(row, table),
            why,
        })?);
    }
    Ok(cells)
}

/// Returns the first column, which is the key or its beginning. No other value of a row may be printed.
fn key_of(row: &rusqlite::Row<'_>, table: &Table) -> String {
    use rusqlite::types::ValueRef;

    let value = match row.get_ref(0) {
        Ok(ValueRef::Integer(number)) => number.to_string(),
        Ok(ValueRef::Text(text)) => format!("{:?}", String::from_utf8_lossy(text)),
        _ => "…".to_owned(),
    };
    let name = table.columns.first().map_or("", |(name, _)| name);
    format!("{name} = {value}")
}

fn read_back(
    to: &mut PgConnection,
    table: &Table,
    at_once: usize,
) -> Result<TableChecksum, CopyError> {
    let mut checksum = TableChecksum::default();
    queries::open_rows(to, &table.name, &names(table))?;
    loop {
        let lines = queries::next_rows(to, at_once)?;
        if lines.is_empty() {
            break;
        }
        for line in lines {
            let cells = cells_of_line(&line, table);
            checksum.add(&cells.ok_or_else(|| CopyError::Differs(table.name.clone()))?);
        }
    }
    queries::close_rows(to)?;
    Ok(checksum)
}

fn cells_of_line(line: &str, table: &Table) -> Option<Vec<Cell>> {
    let texts: Vec<Option<String>> = serde_json::from_str(line).ok()?;
    let cells = texts.iter().zip(&table.columns);
    let cells = cells.map(|(text, (_, kind))| match text {
        None => Some(Cell::Null),
        Some(text) => Cell::of_text(text, *kind).ok(),
    });
    cells.collect()
}

/// Rows that one statement inserts, as a JSON array.
#[derive(Default)]
struct Batch {
    json: String,
    rows: usize,
}

impl Batch {
    /// Adds a row and returns its length.
    fn add(&mut self, columns: &[String], cells: &[Cell]) -> usize {
        let row: serde_json::Map<String, Value> = columns
            .iter()
            .zip(cells)
            .map(|(column, cell)| (column.clone(), cell.to_text().into()))
            .collect();
        let row = Value::Object(row).to_string();
        self.json.push(if self.rows == 0 { '[' } else { ',' });
        self.json.push_str(&row);
        self.rows += 1;
        row.len()
    }

    fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.json.len() >= BATCH_BYTES
    }

    fn insert(
        &mut self,
        to: &mut PgConnection,
        table: &str,
        columns: &[String],
    ) -> Result<(), CopyError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.json.push(']');
        let inserted = queries::insert(to, table, columns, &self.json)?;
        if inserted != self.rows {
            return Err(CopyError::Differs(table.to_owned()));
        }
        self.json.clear();
        self.rows = 0;
        Ok(())
    }
}
