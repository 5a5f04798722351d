//! Rows as JSON, the single argument of statements that write many rows.

use chrono::NaiveDateTime;
use diesel::QueryResult;
use serde::{Serialize, Serializer};

use crate::Db;

/// Encodes rows as JSON.
///
/// # Errors
/// When the rows cannot be serialised.
pub fn to_text(rows: &impl Serialize) -> QueryResult<String> {
    serde_json::to_string(rows)
        .map_err(|error| diesel::result::Error::SerializationError(Box::new(error)))
}

/// Returns the arguments of a statement that takes all rows as one text on PostgreSQL, and one row at a time on SQLite.
///
/// # Errors
/// When the rows cannot be serialised.
pub fn arguments(db: &Db, rows: &[impl Serialize]) -> QueryResult<Vec<String>> {
    match db {
        Db::Pg(_) => Ok(vec![to_text(&rows)?]),
        Db::Sqlite(_) => rows.iter().map(to_text).collect(),
    }
}

/// Serialises a time in SQLite's storage format, which PostgreSQL parses too; for `#[serde(serialize_with)]`.
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
