use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::{PENDING, UNROUTABLE};
use crate::Db;
use crate::schema::outbox;

/// An event that was set aside.
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

/// How many rows are set aside.
///
/// # Errors
/// Any database error.
pub fn count_unroutable(db: &mut Db) -> QueryResult<i64> {
    outbox::table
        .filter(outbox::state.eq(UNROUTABLE))
        .count()
        .get_result(db)
}

/// Rows that were set aside, in the order of their ids, which is that of time; those behind `after`.
///
/// # Errors
/// Any database error.
pub fn list_unroutable(
    db: &mut Db,
    after: Option<&str>,
    limit: i64,
) -> QueryResult<Vec<UnroutableRow>> {
    outbox::table
        .filter(outbox::state.eq(UNROUTABLE))
        .filter(outbox::id.gt(after.unwrap_or_default()))
        .order(outbox::id)
        .limit(limit)
        .select((
            outbox::id,
            outbox::exchange,
            outbox::routing_key,
            outbox::body,
            outbox::created_at,
        ))
        .load(db)
}

/// Has the relay try rows again that were set aside; gives how many there were.
///
/// # Errors
/// Any database error.
pub fn retry_unroutable(db: &mut Db, ids: &[&str]) -> QueryResult<usize> {
    diesel::update(unroutable(ids))
        .set(outbox::state.eq(PENDING))
        .execute(db)
}

/// Deletes rows that were set aside; gives how many there were.
///
/// # Errors
/// Any database error.
pub fn drop_unroutable(db: &mut Db, ids: &[&str]) -> QueryResult<usize> {
    diesel::delete(unroutable(ids)).execute(db)
}

type Unroutable<'a> = diesel::dsl::Filter<
    diesel::dsl::Filter<outbox::table, diesel::dsl::Eq<outbox::state, &'static str>>,
    diesel::dsl::EqAny<outbox::id, Vec<&'a str>>,
>;

fn unroutable<'a>(ids: &[&'a str]) -> Unroutable<'a> {
    outbox::table
        .filter(outbox::state.eq(UNROUTABLE))
        .filter(outbox::id.eq_any(ids.to_vec()))
}
