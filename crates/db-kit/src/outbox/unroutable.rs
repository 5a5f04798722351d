use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Timestamp};

use super::{PENDING, UNROUTABLE, rows_in_state};
use crate::schema::outbox;
use crate::{Db, statement};

/// An unroutable event.
#[derive(Debug, Clone, Queryable)]
pub struct UnroutableRow {
    /// The event's id.
    pub id: String,
    /// The exchange's name, without any prefix.
    pub exchange: String,
    /// The event's type.
    pub routing_key: String,
    /// The encoded event.
    pub body: String,
    /// When it was written.
    pub created_at: NaiveDateTime,
}

/// Counts the unroutable rows.
///
/// # Errors
/// Any database error.
pub fn count_unroutable(db: &mut Db) -> QueryResult<i64> {
    // A literal state, as in [`super::stats`].
    let count = statement::<BigInt>("SELECT count(*) FROM outbox WHERE state = 'unroutable'");
    count.get_result(db)
}

/// Lists unroutable rows whose id is greater than `after`, in the order of their ids, which is that of time.
///
/// # Errors
/// Any database error.
pub fn list_unroutable(
    db: &mut Db,
    after: Option<&str>,
    limit: i64,
) -> QueryResult<Vec<UnroutableRow>> {
    statement::<(Text, Text, Text, Text, Timestamp)>(
        "SELECT id, exchange, routing_key, body, created_at FROM outbox \
         WHERE state = 'unroutable' AND id > $1 ORDER BY id LIMIT $2",
    )
    .bind::<Text, _>(after.unwrap_or_default())
    .bind::<BigInt, _>(limit)
    .load(db)
}

/// Marks unroutable rows as pending, so that the relay publishes them again. Returns their number.
///
/// # Errors
/// Any database error.
pub fn retry_unroutable(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::update(rows_in_state(UNROUTABLE, ids))
        .set(outbox::state.eq(PENDING))
        .execute(db)
}

/// Deletes unroutable rows and returns their number.
///
/// # Errors
/// Any database error.
pub fn drop_unroutable(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::delete(rows_in_state(UNROUTABLE, ids)).execute(db)
}
