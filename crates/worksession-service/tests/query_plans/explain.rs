//! Reads the query plans of a database: which tables a statement would read from end to end.

use std::collections::BTreeSet;

use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Db, DbError, Pool};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

/// The tables that grow with the number of users or sessions.
pub const TABLES: [&str; 20] = [
    "board",
    "inbox",
    "notifications",
    "outbox",
    "projects",
    "session_flags",
    "sessions",
    "team_projects",
    "teams",
    "user_badges",
    "user_category",
    "user_day",
    "user_hour",
    "user_month",
    "user_settings",
    "user_sync",
    "user_totals",
    "webhook_deliveries",
    "webhooks",
    "chat_integrations",
];

/// A statement with its bind values in Rust's debug notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub sql: String,
    binds: Vec<String>,
}

impl Statement {
    /// Parses what Diesel reports of a statement; `None` if it names none of the [`TABLES`].
    pub fn parse(text: &str) -> Option<Self> {
        let (sql, binds) = text.split_once(" -- binds: ").unwrap_or((text, "[]"));
        let inside = binds.strip_prefix('[')?.strip_suffix(']')?;
        let statement = Self {
            sql: sql.to_owned(),
            binds: split(inside),
        };
        (!statement.tables().is_empty()).then_some(statement)
    }

    fn words(&self) -> Vec<&str> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let words = self.sql.split(|c| !is_word(c));
        words.filter(|word| !word.is_empty()).collect()
    }

    /// Returns the tables that the statement names.
    pub fn tables(&self) -> BTreeSet<&'static str> {
        let words: BTreeSet<&str> = self.words().into_iter().collect();
        TABLES
            .into_iter()
            .filter(|table| words.contains(table))
            .collect()
    }

    /// Resolves `name` in a plan to a table, by the table's own name or by its alias in the statement.
    fn table(&self, name: &str) -> Option<&'static str> {
        let words = self.words();
        let named = |table: &str| {
            words.windows(2).any(|pair| pair == [table, name])
                || words.windows(3).any(|three| {
                    three[0] == table && three[1].eq_ignore_ascii_case("as") && three[2] == name
                })
        };
        TABLES
            .into_iter()
            .find(|table| *table == name || named(table))
    }

    /// Returns the SQL and which values are null: statements with the same key have the same plans.
    pub fn key(&self) -> (String, Vec<bool>) {
        let is_null = self.binds.iter().map(|bind| bind == "None").collect();
        (self.sql.clone(), is_null)
    }
}

/// A step of a plan that reads too much.
#[derive(Debug, Clone)]
pub struct Finding {
    /// `sessions`, or `sessions by INDEX` for an index that is scanned from end to end.
    pub what: String,
    pub sql: String,
    pub plan: String,
}

/// Returns the steps of the statement's plans that read too much.
pub fn findings(pool: &Pool, statement: &Statement) -> Vec<Finding> {
    let plans = pool.read_blocking(|db| plans(db, statement).map_err(DbError::from));
    let plans = plans.unwrap_or_else(|cause| panic!("{cause}: {statement:#?}"));
    let mut findings = Vec::new();
    for plan in plans {
        // SQLite has no plan for a plain insert.
        assert!(
            !plan.is_empty() || statement.sql.contains("INSERT INTO"),
            "{statement:?}"
        );
        for (at, line) in plan.iter().enumerate() {
            let next = plan.get(at + 1).map_or("", String::as_str);
            let what = full_scan(statement, line, next);
            if let Some(what) = what.filter(|_| !is_of_subquery(&plan, line)) {
                findings.push(Finding {
                    what,
                    sql: statement.sql.clone(),
                    plan: plan.join("\n"),
                });
            }
        }
    }
    findings
}

/// Whether SQLite scans the result of a subquery, which may have the same name as a table.
fn is_of_subquery(plan: &[String], line: &str) -> bool {
    let Some(name) = line.strip_prefix("SCAN ") else {
        return false;
    };
    let count = |line: &str| plan.iter().filter(|other| *other == line).count();
    let subqueries = count(&format!("CO-ROUTINE {name}")) + count(&format!("MATERIALIZE {name}"));
    count(line) <= subqueries
}

fn full_scan(statement: &Statement, line: &str, next: &str) -> Option<String> {
    let words: Vec<&str> = line
        .trim_start_matches([' ', '-', '>'])
        .split(' ')
        .collect();
    let after = |word: &str| {
        let at = words.iter().position(|other| *other == word)?;
        words.get(at + 1).copied()
    };
    let by_index = |index: &str, table: &str| Some(format!("{table} by {index}"));
    match words.as_slice() {
        // PostgreSQL.
        ["Seq", "Scan", "on", table, ..] | ["Parallel", "Seq", "Scan", "on", table, ..] => {
            Some((*table).to_owned())
        }
        ["Bitmap", "Index", "Scan", ..] | ["Index", "Scan" | "Only", ..]
            if !next.contains("Index Cond:") =>
        {
            let index = after("using").or_else(|| after("on"))?;
            by_index(index, after("on").unwrap_or_default())
        }
        // SQLite.
        ["SCAN", name, ..] => {
            let table = statement.table(name)?;
            match after("INDEX") {
                Some(index) => by_index(index, table),
                None => Some(table.to_owned()),
            }
        }
        _ => None,
    }
}

#[derive(QueryableByName)]
struct PgLine {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    line: String,
}

#[derive(QueryableByName)]
struct SqliteLine {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// Explains a statement: SQLite plans without the values, PostgreSQL with them and, after some calls, without.
fn plans(db: &mut Db, statement: &Statement) -> QueryResult<Vec<Vec<String>>> {
    if let Db::Sqlite(conn) = db {
        let explain = format!("EXPLAIN QUERY PLAN {}", statement.sql);
        let lines: Vec<SqliteLine> = diesel::sql_query(explain).load(conn)?;
        return Ok(vec![lines.into_iter().map(|line| line.detail).collect()]);
    }
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for bind in &statement.binds {
        let (kind, value) = literal(bind);
        // The position of a null determines its type.
        let of_none = if value == "NULL" { "unknown" } else { "text[]" };
        types.push(kind.unwrap_or_else(|| of_none.to_owned()));
        values.push(value);
    }
    let list = |items: &[String]| {
        if items.is_empty() {
            String::new()
        } else {
            format!("({})", items.join(", "))
        }
    };
    db.batch_execute(&format!(
        "PREPARE looked_at{} AS {}",
        list(&types),
        statement.sql
    ))?;
    let mut plans = Vec::new();
    for mode in ["force_custom_plan", "force_generic_plan"] {
        db.batch_execute(&format!("SET plan_cache_mode = {mode}"))?;
        let explain = format!("EXPLAIN (COSTS OFF) EXECUTE looked_at{}", list(&values));
        let lines: Vec<PgLine> = diesel::sql_query(explain).load(db)?;
        plans.push(lines.into_iter().map(|line| line.line).collect());
    }
    db.batch_execute("DEALLOCATE looked_at")?;
    Ok(plans)
}

/// Returns the SQL type and the SQL notation of a value; null has no type.
fn literal(bind: &str) -> (Option<String>, String) {
    let typed = |kind: &str, value: String| (Some(kind.to_owned()), value);
    if bind == "None" {
        return (None, "NULL".to_owned());
    }
    if let Some(items) = bind.strip_prefix('[').and_then(|b| b.strip_suffix(']')) {
        let items: Vec<_> = split(items).iter().map(|item| literal(item)).collect();
        let kind = items.iter().find_map(|item| item.0.clone());
        let kind = kind.map(|kind| format!("{kind}[]"));
        let values: Vec<String> = items.into_iter().map(|item| item.1).collect();
        let values = values.join(", ");
        return match kind {
            Some(kind) => typed(&kind, format!("ARRAY[{values}]::{kind}")),
            None => (None, format!("'{{{values}}}'")),
        };
    }
    if bind.starts_with('"') {
        // Rust's debug notation of a string is JSON, except for characters that no test uses.
        let text: String = serde_json::from_str(bind).unwrap_or_else(|_| "text".to_owned());
        return typed("text", format!("'{}'", text.replace('\'', "''")));
    }
    if bind == "true" || bind == "false" {
        return typed("boolean", bind.to_owned());
    }
    if bind.parse::<i64>().is_ok() {
        return typed("bigint", bind.to_owned());
    }
    if bind.parse::<NaiveDate>().is_ok() {
        return typed("date", format!("'{bind}'"));
    }
    if bind.parse::<NaiveDateTime>().is_ok() {
        return typed("timestamp", format!("'{bind}'"));
    }
    // Some(…), UserId(…)
    match bind.strip_suffix(')').and_then(|b| b.split_once('(')) {
        Some((_, inside)) => literal(inside),
        None => panic!("a value of an unknown shape: {bind}"),
    }
}

/// Splits a list in Rust's debug notation into its elements.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth) = (Vec::new(), String::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for c in list.chars() {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            match c {
                '"' => quoted = true,
                '[' | '(' | '{' => depth += 1,
                ']' | ')' | '}' => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(std::mem::take(&mut part).trim().to_owned());
                    continue;
                }
                _ => {}
            }
        }
        part.push(c);
    }
    if !part.trim().is_empty() {
        parts.push(part.trim().to_owned());
    }
    parts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_table_scan_is_found() {
    let database = test_kit::TestDb::fresh("worksession", worksession_service::MIGRATIONS).await;
    let found = |text: &str| -> Vec<String> {
        let statement = Statement::parse(text).unwrap();
        let found = findings(&database.pool(1), &statement);
        found.into_iter().map(|finding| finding.what).collect()
    };
    let all = found("SELECT s.note FROM sessions AS s WHERE s.note = 'x' -- binds: []");
    assert!(
        !all.is_empty() && all.iter().all(|what| what == "sessions"),
        "{all:?}"
    );
    assert_eq!(Statement::parse("SELECT 1"), None);
}

#[test]
fn bind_values_are_parsed_from_debug_notation() {
    let list = r#"7, "a, \"b\" (c", Some("it's"), None, [UserId(1), UserId(2)], 2026-11-23T09:00:00, 2026-11-23, true"#;
    let values: Vec<String> = split(list).iter().map(|bind| literal(bind).1).collect();
    assert_eq!(
        values,
        [
            "7",
            "'a, \"b\" (c'",
            "'it''s'",
            "NULL",
            "ARRAY[1, 2]::bigint[]",
            "'2026-11-23T09:00:00'",
            "'2026-11-23'",
            "true"
        ]
    );
}
