//! Queries on the PostgreSQL database, and on the SQLite file for the move. Tables and columns come from the catalogs, whatever a
//! migration makes of them.

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use rusqlite::Connection;

use super::cell::ColumnType;
use crate::admin::database::queries::quoted;

/// The key of an advisory lock during a move. A second target that is the same database does not get the lock.
const LOCK_KEY: i64 = 0x6d6f_7665_696e_746f;
/// Diesel's own table of applied migrations.
const MIGRATIONS: &str = "__diesel_schema_migrations";

#[derive(Debug, QueryableByName)]
pub(super) struct Column {
    #[diesel(sql_type = Text)]
    pub(super) table_name: String,
    #[diesel(sql_type = Text)]
    pub(super) column_name: String,
    /// The type's name in `information_schema`.
    #[diesel(sql_type = Text)]
    pub(super) data_type: String,
    /// The sequence that its numbers come from.
    #[diesel(sql_type = Nullable<Text>)]
    pub(super) sequence: Option<String>,
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Bool)]
    answer: bool,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// A table and another one that it refers to.
#[derive(Debug, QueryableByName)]
pub(super) struct Reference {
    /// The table whose rows refer.
    #[diesel(sql_type = Text)]
    pub(super) from_table: String,
    /// The table of the rows that they refer to.
    #[diesel(sql_type = Text)]
    pub(super) to_table: String,
}

/// Locks the database for one move, until the connection is closed. Returns false if another move has it.
pub(super) fn take(db: &mut PgConnection) -> QueryResult<bool> {
    let take = diesel::sql_query("SELECT pg_try_advisory_lock($1) AS answer");
    let taken: Answer = take.bind::<BigInt, _>(LOCK_KEY).get_result(db)?;
    Ok(taken.answer)
}

/// Sets one text form for values, and lifts time limits that a whole database would exceed.
pub(super) fn set_up(db: &mut PgConnection) -> QueryResult<()> {
    db.batch_execute(
        "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET lock_timeout = '10s'; \
         SET datestyle = 'ISO, YMD'; SET bytea_output = 'hex'; SET extra_float_digits = 1",
    )
}

/// Lists the tables of the current schema, except Diesel's own.
pub(super) fn tables(db: &mut PgConnection) -> QueryResult<Vec<String>> {
    let sql = "SELECT tablename::text AS name FROM pg_tables \
               WHERE schemaname = current_schema() AND tablename <> $1 ORDER BY 1";
    let names: Vec<Name> = diesel::sql_query(sql)
        .bind::<Text, _>(MIGRATIONS)
        .load(db)?;
    Ok(names.into_iter().map(|name| name.name).collect())
}

pub(super) fn has_rows(db: &mut PgConnection, table: &str) -> QueryResult<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {}) AS answer", quoted(table));
    let found: Answer = diesel::sql_query(sql).get_result(db)?;
    Ok(found.answer)
}

pub(super) fn columns(db: &mut PgConnection) -> QueryResult<Vec<Column>> {
    let sql = "SELECT c.table_name::text, c.column_name::text, c.data_type::text, \
               pg_get_serial_sequence(quote_ident(c.table_name), c.column_name) AS sequence \
               FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) \
               WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.table_name <> $1 \
               ORDER BY c.table_name, c.ordinal_position";
    diesel::sql_query(sql).bind::<Text, _>(MIGRATIONS).load(db)
}

/// Lists which table refers to which.
pub(super) fn references(db: &mut PgConnection) -> QueryResult<Vec<Reference>> {
    let sql = "SELECT DISTINCT a.relname::text AS from_table, b.relname::text AS to_table FROM pg_constraint c \
               JOIN pg_class a ON a.oid = c.conrelid JOIN pg_class b ON b.oid = c.confrelid \
               WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace";
    diesel::sql_query(sql).load(db)
}

/// Keeps everybody else from writing to the tables until the transaction ends.
pub(super) fn lock(db: &mut PgConnection, tables: &[String]) -> QueryResult<()> {
    let names: Vec<String> = tables.iter().map(|table| quoted(table)).collect();
    db.batch_execute(&format!(
        "LOCK TABLE {} IN EXCLUSIVE MODE",
        names.join(", ")
    ))
}

/// Inserts rows, given as JSON objects whose values are texts, and returns their number.
pub(super) fn insert(
    db: &mut PgConnection,
    table: &str,
    columns: &[String],
    rows: &str,
) -> QueryResult<usize> {
    let (table, columns) = (quoted(table), list(columns));
    let sql = format!(
        "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE \
         SELECT {columns} FROM json_populate_recordset(NULL::{table}, $1::json)"
    );
    diesel::sql_query(sql).bind::<Text, _>(rows).execute(db)
}

/// Makes a sequence continue after `last`.
pub(super) fn set_sequence(db: &mut PgConnection, sequence: &str, last: i64) -> QueryResult<()> {
    diesel::sql_query("SELECT setval($1::regclass, $2)")
        .bind::<Text, _>(sequence)
        .bind::<BigInt, _>(last)
        .execute(db)
        .map(drop)
}

/// Opens a cursor on a table; one at a time.
pub(super) fn open_rows(db: &mut PgConnection, table: &str, columns: &[String]) -> QueryResult<()> {
    let texts: Vec<String> = columns
        .iter()
        .map(|column| format!("{}::text", quoted(column)))
        .collect();
    db.batch_execute(&format!(
        "DECLARE moved NO SCROLL CURSOR FOR SELECT to_json(ARRAY[{}])::text AS line FROM {}",
        texts.join(", "),
        quoted(table)
    ))
}

/// Returns the next rows, each as a JSON array of texts; none at the end.
pub(super) fn next_rows(db: &mut PgConnection, limit: usize) -> QueryResult<Vec<String>> {
    let lines: Vec<Line> = diesel::sql_query(format!("FETCH {limit} FROM moved")).load(db)?;
    Ok(lines.into_iter().map(|line| line.line).collect())
}

/// Closes the cursor.
pub(super) fn close_rows(db: &mut PgConnection) -> QueryResult<()> {
    db.batch_execute("CLOSE moved")
}

/// Updates the statistics of the planner.
pub(super) fn analyze(db: &mut PgConnection) -> QueryResult<()> {
    db.batch_execute("ANALYZE")
}

pub(super) fn sqlite_columns(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut found = db.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    found.query_map([table], |row| row.get(0))?.collect()
}

/// Reads all rows of a table in the SQLite file, one at a time.
pub(super) fn read_sqlite<E: From<rusqlite::Error>>(
    db: &Connection,
    table: &str,
    columns: &[(String, ColumnType)],
    mut take: impl FnMut(&rusqlite::Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
    let sql = format!("SELECT {} FROM {}", list(&names), quoted(table));
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// Returns the highest number that a table's key has ever had, including deleted rows.
pub(super) fn highest_key(db: &Connection, table: &str, column: &str) -> rusqlite::Result<i64> {
    let (quoted_table, column) = (quoted(table), quoted(column));
    let sql = format!("SELECT coalesce(max({column}), 0) FROM {quoted_table}");
    let there: i64 = db.query_row(&sql, [], |row| row.get(0))?;
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'";
    let counts: i64 = db.query_row(sql, [], |row| row.get(0))?;
    if counts == 0 {
        return Ok(there);
    }
    let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
    let ever: i64 = db.query_row(sql, [table], |row| row.get(0))?;
    Ok(there.max(ever))
}

fn list(columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    names.join(", ")
}
