//! Events that wait for the broker. A row is written in the transaction of the change that it reports. The relay leases rows,
//! publishes them outside any transaction, and deletes those that are confirmed.

mod leases;
mod unroutable;

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamp};
use event_types::{Event, EventData};
use serde::Serialize;
use uuid::{NoContext, Uuid};

use crate::schema::outbox;
use crate::{COUNTED, Db, statement};

pub use leases::{end_lease, is_any_due, lease};
pub use unroutable::{
    UnroutableRow, count_unroutable, drop_unroutable, list_unroutable, retry_unroutable,
};

const PENDING: &str = "pending";
const UNROUTABLE: &str = "unroutable";

/// An event to publish.
#[derive(Debug, Clone, Serialize)]
pub struct NewOutboxRow {
    /// The event's id.
    pub id: Uuid,
    /// The exchange's name, without any prefix.
    pub exchange: &'static str,
    /// The event's type.
    pub routing_key: &'static str,
    /// The encoded event.
    pub body: String,
    /// When the event happened.
    #[serde(serialize_with = "crate::json::timestamp")]
    pub created_at: NaiveDateTime,
}

/// An event that is leased to a relay.
#[derive(Debug, Clone)]
pub struct OutboxRow {
    /// The event's id.
    pub id: String,
    /// The exchange's name, without any prefix.
    pub exchange: String,
    /// The event's type.
    pub routing_key: String,
    /// The encoded event.
    pub body: String,
    /// Whether an earlier lease expired with an unknown outcome, so that a copy may have been published.
    pub reclaimed: bool,
}

/// The backlog of an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxStats {
    /// Rows that wait or are being published, at most [`COUNTED`].
    pub pending: i64,
    /// When the oldest of them was written.
    pub oldest: Option<NaiveDateTime>,
    /// Rows for which no queue is bound.
    pub unroutable: i64,
}

impl NewOutboxRow {
    /// Creates the row of an event that happens `now` in the service `source`.
    ///
    /// # Errors
    /// When the data cannot be serialised or is too long for an event. The change must not happen either.
    pub fn for_event<T: EventData>(
        source: &str,
        now: DateTime<Utc>,
        request_id: Option<String>,
        data: &T,
    ) -> QueryResult<Self> {
        let id = uuid_v7(now);
        let body = Event::new(id, source, now, request_id, data).and_then(|event| event.encode());
        Ok(Self {
            id,
            exchange: T::EXCHANGE.name(),
            routing_key: T::TYPE,
            body: body
                .map_err(|error| diesel::result::Error::SerializationError(Box::new(error)))?,
            created_at: now.naive_utc(),
        })
    }
}

/// Returns a UUIDv7 (RFC 9562) with the time of the injected clock, so that ids sort by time.
#[must_use]
pub fn uuid_v7(now: DateTime<Utc>) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(
        NoContext,
        seconds,
        now.timestamp_subsec_nanos(),
    ))
}

/// Inserts an event. Call it in the transaction of the change, and wake the relay after the commit.
///
/// # Errors
/// Any database error, or an event that cannot be encoded; the caller must roll back.
pub fn enqueue<T: EventData>(
    db: &mut Db,
    source: &str,
    now: DateTime<Utc>,
    request_id: Option<String>,
    data: &T,
) -> QueryResult<()> {
    insert(db, &NewOutboxRow::for_event(source, now, request_id, data)?)
}

/// Inserts the row of an event. Call it in the transaction of the change.
///
/// # Errors
/// Any database error; the caller must roll back.
pub fn insert(db: &mut Db, row: &NewOutboxRow) -> QueryResult<()> {
    diesel::insert_into(outbox::table)
        .values((
            outbox::id.eq(row.id.to_string()),
            outbox::exchange.eq(row.exchange),
            outbox::routing_key.eq(row.routing_key),
            outbox::body.eq(&row.body),
            outbox::created_at.eq(row.created_at),
            outbox::state.eq(PENDING),
        ))
        .execute(db)
        .map(drop)
}

/// Inserts the rows of events, on PostgreSQL in one statement.
///
/// # Errors
/// Any database error; the caller must roll back.
pub fn insert_all(db: &mut Db, rows: &[NewOutboxRow]) -> QueryResult<()> {
    match db {
        Db::Pg(conn) if rows.len() > 1 => {
            // Arrays need one parameter per column, however many rows there are.
            let ids: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
            let exchanges: Vec<&str> = rows.iter().map(|row| row.exchange).collect();
            let keys: Vec<&str> = rows.iter().map(|row| row.routing_key).collect();
            let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_str()).collect();
            let times: Vec<NaiveDateTime> = rows.iter().map(|row| row.created_at).collect();
            statement::<()>(
                "INSERT INTO outbox (id, exchange, routing_key, body, created_at) \
                 SELECT * FROM unnest($1, $2, $3, $4, $5)",
            )
            .bind::<Array<Text>, _>(ids)
            .bind::<Array<Text>, _>(exchanges)
            .bind::<Array<Text>, _>(keys)
            .bind::<Array<Text>, _>(bodies)
            .bind::<Array<Timestamp>, _>(times)
            .execute(conn)
            .map(drop)
        }
        _ => rows.iter().try_for_each(|row| insert(db, row)),
    }
}

/// Deletes rows that the broker confirmed, even if another relay has leased them meanwhile: they are published.
///
/// # Errors
/// Any database error.
pub fn delete(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(0);
    };
    match db {
        // In this form, PostgreSQL scans the range once and looks up each id in a hash of the given ones. A condition that can
        // become a join, or an array, makes it compare each id with one after the other.
        Db::Pg(conn) => statement::<()>(
            "DELETE FROM outbox WHERE state = 'pending' AND id BETWEEN $1 AND $2 \
                 AND (id IN (SELECT unnest($3))) IS TRUE",
        )
        .bind::<Text, _>(first)
        .bind::<Text, _>(last)
        .bind::<Array<Text>, _>(ids)
        .execute(conn),
        Db::Sqlite(conn) => diesel::delete(rows_in_state(PENDING, ids)).execute(conn),
    }
}

/// Marks rows as unroutable. They are kept until an operator repairs the topology.
///
/// # Errors
/// Any database error.
pub fn mark_unroutable(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::update(rows_in_state(PENDING, ids))
        .set(outbox::state.eq(UNROUTABLE))
        .execute(db)
}

/// Returns the size of the backlog. The cost does not grow with the pending rows.
///
/// # Errors
/// Any database error.
pub fn stats(db: &mut Db) -> QueryResult<OutboxStats> {
    // The state is a literal: with a parameter, SQLite does not see that the index applies.
    let pending = statement::<BigInt>(
        "SELECT count(*) FROM (SELECT 1 AS one FROM outbox WHERE state = 'pending' LIMIT $1) AS counted",
    )
    .bind::<BigInt, _>(COUNTED)
    .get_result(db)?;
    // Ids sort by time.
    let oldest = statement::<Timestamp>(
        "SELECT created_at FROM outbox WHERE state = 'pending' ORDER BY id LIMIT 1",
    );
    let oldest = oldest.get_result(db).optional()?;
    let unroutable = count_unroutable(db)?;
    Ok(OutboxStats {
        pending,
        oldest,
        unroutable,
    })
}

type RowsInState<'a> = diesel::dsl::Filter<
    diesel::dsl::Filter<outbox::table, diesel::dsl::Eq<outbox::state, &'static str>>,
    diesel::dsl::EqAny<outbox::id, &'a [String]>,
>;

fn rows_in_state<'a>(state: &'static str, ids: &'a [String]) -> RowsInState<'a> {
    outbox::table
        .filter(outbox::state.eq(state))
        .filter(outbox::id.eq_any(ids))
}
