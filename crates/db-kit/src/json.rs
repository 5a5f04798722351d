//! Rows as JSON, the one argument of statements that write many of them.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::{Serialize, Serializer};

use crate::{Db, cached};

/// The JSON text.
///
/// # Errors
/// When the rows do not serialise.
pub fn to_text(rows: &impl Serialize) -> QueryResult<String> {
    serde_json::to_string(rows)
        .map_err(|error| diesel::result::Error::SerializationError(Box::new(error)))
}

/// The arguments of a statement that is for many rows on PostgreSQL, one text of them all, and for one on SQLite.
///
/// # Errors
/// When the rows do not serialise.
pub fn arguments(db: &Db, rows: &[impl Serialize]) -> QueryResult<Vec<String>> {
    match db {
        Db::Pg(_) => Ok(vec![to_text(&rows)?]),
        Db::Sqlite(_) => rows.iter().map(to_text).collect(),
    }
}

/// For `#[serde(serialize_with)]`: a time as SQLite stores it, which PostgreSQL reads too.
///
/// # Errors
/// Those of the serialiser.
pub fn timestamp<S: Serializer>(
    at: &(impl Copy + Into<Option<NaiveDateTime>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match (*at).into() {
        Some(at) => serializer.collect_str(&at.format("%F %T%.f")),
        None => serializer.serialize_none(),
    }
}

/// Runs the statements in `text` one by one with the same JSON as `$1`: SQLite has no statement that writes several tables.
/// Each ends with `;` at the end of a line.
///
/// # Errors
/// Any database error; what ran before stays.
pub fn execute_each(db: &mut Db, text: &'static str, json: &str) -> QueryResult<()> {
    for statement in text.split_inclusive(";\n") {
        cached::<(), _>(diesel::sql_query(statement).bind::<Text, _>(json)).execute(db)?;
    }
    Ok(())
}
