//! Rows as JSON, the one argument of statements that write many of them.

use chrono::NaiveDateTime;
use diesel::QueryResult;
use serde::{Serialize, Serializer};

use crate::Db;

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
