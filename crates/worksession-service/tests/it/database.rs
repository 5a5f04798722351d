//! Reads and writes the database of a test.

use db_kit::{Db, DbError};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use crate::service_fixture::Service;

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

const POSTGRES_COLUMNS: &str = "SELECT table_name::text || '.' || column_name::text AS line \
    FROM information_schema.columns WHERE table_schema = 'public'";
const SQLITE_COLUMNS: &str = "SELECT t.name || '.' || c.name AS line \
    FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";

/// A row: its table, and the texts of its columns in some order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub table: String,
    pub text: String,
}

fn run<T: Send + 'static>(
    service: &Service,
    work: impl FnOnce(&mut Db) -> QueryResult<T> + Send + 'static,
) -> T {
    let pool = service.database.pool(1);
    pool.read_blocking(|db| work(db).map_err(DbError::from))
        .unwrap()
}

fn lines(db: &mut Db, sql: &str) -> QueryResult<Vec<String>> {
    let lines: Vec<Line> = diesel::sql_query(sql).load(db)?;
    Ok(lines.into_iter().map(|line| line.line).collect())
}

/// Returns `(table, column)` of every column of the service's tables.
fn columns(db: &mut Db) -> QueryResult<Vec<(String, String)>> {
    let sql = match db {
        Db::Pg(_) => POSTGRES_COLUMNS,
        Db::Sqlite(_) => SQLITE_COLUMNS,
    };
    let names = lines(db, sql)?.into_iter().map(|line| {
        let (table, column) = line.split_once('.').unwrap();
        (table.to_owned(), column.to_owned())
    });
    Ok(names
        .filter(|(table, _)| !table.starts_with("__"))
        .collect())
}

/// Returns every row of every table, sorted.
pub fn all_rows(service: &Service) -> Vec<Row> {
    run(service, |db| {
        let columns = columns(db)?;
        let mut tables: Vec<&String> = columns.iter().map(|(table, _)| table).collect();
        tables.sort();
        tables.dedup();
        let mut rows = Vec::new();
        for table in tables {
            let own = columns.iter().filter(|(of, _)| of == table);
            let text: Vec<String> = own
                .map(|(_, column)| format!("COALESCE(CAST(\"{column}\" AS TEXT), '')"))
                .collect();
            let sql = format!(
                "SELECT {} AS line FROM \"{table}\"",
                text.join(" || '|' || ")
            );
            rows.extend(lines(db, &sql)?.into_iter().map(|text| Row {
                table: table.clone(),
                text,
            }));
        }
        rows.sort();
        Ok(rows)
    })
}

/// Returns the tables with a column that names a user.
pub fn tables_with_users(service: &Service) -> Vec<String> {
    run(service, |db| {
        let names_user = |column: &str| {
            ["user", "owner", "author", "creator", "member"]
                .iter()
                .any(|word| column == *word || column == format!("{word}_id"))
                || column.ends_with("_by")
        };
        let mut tables: Vec<String> = columns(db)?
            .into_iter()
            .filter(|(_, column)| names_user(column))
            .map(|(table, _)| table)
            .collect();
        tables.dedup();
        Ok(tables)
    })
}

/// Returns the result of a `SELECT count(*) AS number …`.
pub fn count(service: &Service, sql: &str) -> i64 {
    let sql = sql.to_owned();
    run(service, move |db| {
        let number: Number = diesel::sql_query(sql).get_result(db)?;
        Ok(number.number)
    })
}

/// Executes statements.
pub fn execute(service: &Service, sql: &str) {
    let sql = sql.to_owned();
    run(service, move |db| db.batch_execute(&sql));
}

/// Inserts that many submitted sessions of the user, each with a notification, a flag and a category of its own.
pub fn insert_history(service: &Service, user: i64, sessions: i64) {
    let numbers = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions})"
    );
    execute(
        service,
        &format!(
            "INSERT INTO sessions (session_id, user_id, username, client, category, planned_duration, \
              planning_note, project_id, project_name, status, started_at, expected_end_at, ended_at, zone, \
              local_day, utc_offset, submitted_at, credited_minutes, start_digest, idempotency_key, submit_digest, \
              submit_result) \
             {numbers} SELECT 'history-{user}-' || i, {user}, 'person{user}', 'client_a', 'kind ' || i, 25, \
              'the plan', 'none', '', 'completed', '2026-01-01 09:00:00', '2026-01-01 09:25:00', \
              '2026-01-01 09:25:00', 'UTC', '2026-01-01', 0, '2026-01-01 09:25:00', 25, \
              'digest ' || i, 'key ' || i, 'submit ' || i, '{{}}' FROM n; \
             INSERT INTO notifications (event_id, session_id, outcome, settled_at) \
             {numbers} SELECT 'told-{user}-' || i, 'history-{user}-' || i, 'delivered', '2026-01-01 09:00:01' FROM n; \
             INSERT INTO session_flags (session_id, user_id, kind, severity, created_at) \
             {numbers} SELECT 'history-{user}-' || i, {user}, 'long_day', 'suspect', '2026-01-01 09:25:00' FROM n; \
             INSERT INTO user_category (user_id, category, minutes) \
             {numbers} SELECT {user}, 'kind ' || i, 25 FROM n"
        ),
    );
}
