//! Events that wait for the broker. The row is written in the transaction of the change it tells of;
//! the relay leases rows, publishes them outside any transaction, and deletes what was confirmed.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use uuid::Uuid;

use crate::Db;
use crate::schema::outbox;

const PENDING: &str = "pending";
const UNROUTABLE: &str = "unroutable";

/// An event to be published.
#[derive(Debug, Clone)]
pub struct NewOutboxRow {
    /// The event's id.
    pub id: Uuid,
    /// The exchange's name, without any prefix.
    pub exchange: &'static str,
    /// The event's type.
    pub routing_key: &'static str,
    /// The encoded event.
    pub body: String,
    /// When it happened.
    pub created_at: NaiveDateTime,
}

/// An event that was leased to a relay.
#[derive(Debug, Clone, Queryable)]
pub struct OutboxRow {
    /// The event's id.
    pub id: String,
    /// The exchange's name, without any prefix.
    pub exchange: String,
    /// The event's type.
    pub routing_key: String,
    /// The encoded event.
    pub body: String,
    /// How often it was leased, this time included. More than one means that a copy may be out already.
    pub attempts: i64,
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxStats {
    /// Rows that wait or are under way.
    pub pending: i64,
    /// When the oldest of them was written.
    pub oldest: Option<NaiveDateTime>,
    /// Rows that no queue wanted.
    pub unroutable: i64,
}

/// Writes an event; call it in the transaction of the change.
///
/// # Errors
/// Any database error; the caller's transaction is lost.
pub fn insert(db: &mut Db, row: &NewOutboxRow) -> QueryResult<()> {
    diesel::insert_into(outbox::table)
        .values((
            outbox::id.eq(row.id.to_string()),
            outbox::exchange.eq(row.exchange),
            outbox::routing_key.eq(row.routing_key),
            outbox::body.eq(&row.body),
            outbox::created_at.eq(row.created_at),
            outbox::state.eq(PENDING),
            outbox::available_at.eq(row.created_at),
            outbox::attempts.eq(0),
        ))
        .execute(db)
        .map(drop)
}

/// Leases up to `limit` rows that nobody holds, the oldest first.
///
/// Call it in a write transaction of its own: of several relays each then gets rows of its own. A lease
/// that runs out makes its rows free again.
///
/// # Errors
/// Any database error.
pub fn lease(
    db: &mut Db,
    owner: &str,
    now: NaiveDateTime,
    lease: Duration,
    limit: i64,
) -> QueryResult<Vec<OutboxRow>> {
    let until = now + lease;
    let columns = (
        outbox::id,
        outbox::exchange,
        outbox::routing_key,
        outbox::body,
        outbox::attempts,
    );
    let mut rows: Vec<OutboxRow> = match db {
        Db::Pg(conn) => {
            // The lock is skipped, not waited for: other relays' rows are none of ours.
            let due = outbox::table
                .filter(outbox::state.eq(PENDING).and(outbox::available_at.le(now)))
                .order((outbox::available_at, outbox::id))
                .limit(limit)
                .select(outbox::id)
                .for_update()
                .skip_locked()
                .load::<String>(conn)?;
            diesel::update(
                outbox::table
                    .filter(outbox::id.eq_any(due))
                    .filter(outbox::available_at.le(now)),
            )
            .set((
                outbox::available_at.eq(until),
                outbox::lease_owner.eq(owner),
                outbox::attempts.eq(outbox::attempts + 1),
            ))
            .returning(columns)
            .load(conn)?
        }
        Db::Sqlite(conn) => {
            let due = outbox::table
                .filter(outbox::state.eq(PENDING).and(outbox::available_at.le(now)))
                .order((outbox::available_at, outbox::id))
                .limit(limit)
                .select(outbox::id)
                .load::<String>(conn)?;
            diesel::update(outbox::table.filter(outbox::id.eq_any(due)))
                .set((
                    outbox::available_at.eq(until),
                    outbox::lease_owner.eq(owner),
                    outbox::attempts.eq(outbox::attempts + 1),
                ))
                .returning(columns)
                .load(conn)?
        }
    };
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(rows)
}

/// Deletes rows that the broker confirmed. A row that another relay leased meanwhile goes too: it is out.
///
/// # Errors
/// Any database error.
pub fn delete(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::delete(outbox::table.filter(outbox::id.eq_any(ids))).execute(db)
}

/// Gives rows back that could not be published, to be tried again at `available_at`; only those that `owner` still holds.
///
/// # Errors
/// Any database error.
pub fn release(
    db: &mut Db,
    owner: &str,
    ids: &[String],
    available_at: NaiveDateTime,
) -> QueryResult<usize> {
    diesel::update(
        outbox::table
            .filter(outbox::id.eq_any(ids))
            .filter(outbox::lease_owner.eq(owner)),
    )
    .set((
        outbox::available_at.eq(available_at),
        outbox::lease_owner.eq(None::<String>),
    ))
    .execute(db)
}

/// Sets rows aside that no queue wanted; they are kept for whoever mends the topology.
///
/// # Errors
/// Any database error.
pub fn mark_unroutable(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::update(outbox::table.filter(outbox::id.eq_any(ids)))
        .set(outbox::state.eq(UNROUTABLE))
        .execute(db)
}

/// Counts what waits.
///
/// # Errors
/// Any database error.
pub fn stats(db: &mut Db) -> QueryResult<OutboxStats> {
    let (pending, oldest) = outbox::table
        .filter(outbox::state.eq(PENDING))
        .select((
            diesel::dsl::count_star(),
            diesel::dsl::min(outbox::created_at),
        ))
        .first::<(i64, Option<NaiveDateTime>)>(db)?;
    let unroutable = outbox::table
        .filter(outbox::state.eq(UNROUTABLE))
        .count()
        .get_result(db)?;
    Ok(OutboxStats {
        pending,
        oldest,
        unroutable,
    })
}

/// The earliest moment at which a waiting row can be leased.
///
/// # Errors
/// Any database error.
pub fn next_due(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    outbox::table
        .filter(outbox::state.eq(PENDING))
        .select(diesel::dsl::min(outbox::available_at))
        .first(db)
}
