//! Events that wait for the broker. The row is written in the transaction of the change it tells of;
//! the relay leases rows, publishes them outside any transaction, and deletes what was confirmed.

mod aside;
mod leases;

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamp};
use event_types::{Event, EventData};
use serde::Serialize;
use uuid::{NoContext, Uuid};

use crate::schema::outbox;
use crate::{COUNTED, Db, cached};

pub use aside::{
    UnroutableRow, count_unroutable, drop_unroutable, list_unroutable, retry_unroutable,
};
pub use leases::{end_lease, is_any_due, lease};

const PENDING: &str = "pending";
const UNROUTABLE: &str = "unroutable";

/// An event to be published.
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
    /// When it happened.
    #[serde(serialize_with = "crate::json::timestamp")]
    pub created_at: NaiveDateTime,
}

/// An event that was leased to a relay.
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
    /// Another lease ran out before its relay said what became of it: a copy may be out already.
    pub reclaimed: bool,
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxStats {
    /// Rows that wait or are under way, [`COUNTED`] at most.
    pub pending: i64,
    /// When the oldest of them was written.
    pub oldest: Option<NaiveDateTime>,
    /// Rows that no queue wanted.
    pub unroutable: i64,
}

impl NewOutboxRow {
    /// The row of an event that happens `now` in the part `source`.
    ///
    /// # Errors
    /// When the data does not serialise or is too long for an event: the change must not happen either.
    pub fn of<T: EventData>(
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

/// An id that sorts by time, of the injected clock.
#[must_use]
pub fn uuid_v7(now: DateTime<Utc>) -> Uuid {
    let seconds = u64::try_from(now.timestamp()).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix(
        NoContext,
        seconds,
        now.timestamp_subsec_nanos(),
    ))
}

/// Writes an event; call it in the transaction of the change, and wake the relay after the commit.
///
/// # Errors
/// Any database error, or an event that cannot be encoded; the caller's transaction is lost.
pub fn enqueue<T: EventData>(
    db: &mut Db,
    source: &str,
    now: DateTime<Utc>,
    request_id: Option<String>,
    data: &T,
) -> QueryResult<()> {
    insert(db, &NewOutboxRow::of(source, now, request_id, data)?)
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
        ))
        .execute(db)
        .map(drop)
}

/// Writes events, as many as there are in one statement where the database can.
///
/// # Errors
/// Any database error; the caller's transaction is lost.
pub fn insert_all(db: &mut Db, rows: &[NewOutboxRow]) -> QueryResult<()> {
    match db {
        Db::Pg(conn) if rows.len() > 1 => {
            // As arrays: one value a column, however many rows, spares the server thousands of parameters.
            let ids: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
            let exchanges: Vec<&str> = rows.iter().map(|row| row.exchange).collect();
            let keys: Vec<&str> = rows.iter().map(|row| row.routing_key).collect();
            let bodies: Vec<&str> = rows.iter().map(|row| row.body.as_str()).collect();
            let times: Vec<NaiveDateTime> = rows.iter().map(|row| row.created_at).collect();
            let insert = diesel::sql_query(
                "INSERT INTO outbox (id, exchange, routing_key, body, created_at) \
                 SELECT * FROM unnest($1, $2, $3, $4, $5)",
            );
            let insert = insert
                .bind::<Array<Text>, _>(ids)
                .bind::<Array<Text>, _>(exchanges)
                .bind::<Array<Text>, _>(keys)
                .bind::<Array<Text>, _>(bodies)
                .bind::<Array<Timestamp>, _>(times);
            cached::<(), _>(insert).execute(conn).map(drop)
        }
        _ => rows.iter().try_for_each(|row| insert(db, row)),
    }
}

/// Deletes rows that the broker confirmed. A row that another relay leased meanwhile goes too: it is out.
///
/// # Errors
/// Any database error.
pub fn delete(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) else {
        return Ok(0);
    };
    match db {
        // Told so, PostgreSQL walks through the range once, and looks for each of its ids in a hash of these. Of a
        // condition that can be made a join, or of an array, it compares each with one after the other.
        Db::Pg(conn) => {
            let delete = diesel::sql_query(
                "DELETE FROM outbox WHERE state = 'pending' AND id BETWEEN $1 AND $2 \
                 AND (id IN (SELECT unnest($3))) IS TRUE",
            );
            let delete = delete
                .bind::<Text, _>(first)
                .bind::<Text, _>(last)
                .bind::<Array<Text>, _>(ids);
            cached::<(), _>(delete).execute(conn)
        }
        Db::Sqlite(conn) => diesel::delete(pending(ids)).execute(conn),
    }
}

/// Sets rows aside that no queue wanted; they are kept for whoever mends the topology.
///
/// # Errors
/// Any database error.
pub fn mark_unroutable(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::update(pending(ids))
        .set(outbox::state.eq(UNROUTABLE))
        .execute(db)
}

/// Counts what waits. The cost does not grow with it.
///
/// # Errors
/// Any database error.
pub fn stats(db: &mut Db) -> QueryResult<OutboxStats> {
    // The state is written out: of an argument SQLite does not see that the index of such rows serves.
    let pending = diesel::sql_query(
        "SELECT count(*) FROM (SELECT 1 AS one FROM outbox WHERE state = 'pending' LIMIT $1) AS counted",
    );
    let pending = cached::<BigInt, _>(pending.bind::<BigInt, _>(COUNTED)).get_result(db)?;
    // Ids sort by time.
    let oldest = diesel::sql_query(
        "SELECT created_at FROM outbox WHERE state = 'pending' ORDER BY id LIMIT 1",
    );
    let oldest = cached::<Timestamp, _>(oldest).get_result(db).optional()?;
    let unroutable = count_unroutable(db)?;
    Ok(OutboxStats {
        pending,
        oldest,
        unroutable,
    })
}

type Pending<'a> = diesel::dsl::Filter<
    diesel::dsl::Filter<outbox::table, diesel::dsl::Eq<outbox::state, &'static str>>,
    diesel::dsl::EqAny<outbox::id, &'a [String]>,
>;

fn pending(ids: &[String]) -> Pending<'_> {
    outbox::table
        .filter(outbox::state.eq(PENDING))
        .filter(outbox::id.eq_any(ids))
}
