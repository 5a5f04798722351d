//! Events that wait for the broker. The row is written in the transaction of the change it tells of;
//! the relay leases rows, publishes them outside any transaction, and deletes what was confirmed.

mod aside;

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Text, Timestamp};
use event_types::{Event, EventData};
use uuid::{NoContext, Uuid};

use crate::count::count_some;
use crate::schema::outbox;
use crate::{Db, on_backend, prepared};

pub use aside::{
    UnroutableRow, count_unroutable, drop_unroutable, list_unroutable, retry_unroutable,
};

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
    /// Another lease ran out before its relay said what became of it: a copy may be out already.
    pub reclaimed: bool,
}

/// How much waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxStats {
    /// Rows that wait or are under way, [`crate::COUNTED`] at most.
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
            outbox::available_at.eq(row.created_at),
            outbox::attempts.eq(0),
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
            prepared::<Bool>(
                "INSERT INTO outbox (id, exchange, routing_key, body, created_at, available_at) \
                 SELECT id, exchange, routing_key, body, at, at FROM unnest(",
            )
            .bind::<Array<Text>, _>(ids)
            .sql(", ")
            .bind::<Array<Text>, _>(exchanges)
            .sql(", ")
            .bind::<Array<Text>, _>(keys)
            .sql(", ")
            .bind::<Array<Text>, _>(bodies)
            .sql(", ")
            .bind::<Array<Timestamp>, _>(times)
            .sql(") AS new (id, exchange, routing_key, body, at)")
            .execute(conn)
            .map(drop)
        }
        _ => rows.iter().try_for_each(|row| insert(db, row)),
    }
}

/// Leases up to `limit` rows that nobody holds, the oldest first, those behind the id `after`, in one statement.
///
/// Of several relays each gets rows of its own. A lease that runs out makes its rows free again. No column changes that
/// is indexed: on PostgreSQL the new version of a row then stays on its page and costs no entry in any index.
///
/// # Errors
/// Any database error.
pub fn lease(
    db: &mut Db,
    owner: &str,
    now: NaiveDateTime,
    lease: Duration,
    limit: i64,
    after: &str,
) -> QueryResult<Vec<OutboxRow>> {
    // The lock is skipped, not waited for: other relays' rows are none of ours.
    let (these, end) = match db {
        Db::Pg(_) => ("= ANY(ARRAY(", " FOR UPDATE SKIP LOCKED))"),
        Db::Sqlite(_) => ("IN (", ")"),
    };
    let leased = prepared::<(Text, Text, Text, Text, Bool)>("UPDATE outbox SET available_at = ")
        .bind::<Timestamp, _>(now + lease)
        .sql(", lease_owner = ")
        .bind::<Text, _>(owner)
        .sql(", attempts = attempts + 1 WHERE id ")
        .sql(these)
        .sql("SELECT id FROM outbox WHERE state = 'pending' AND available_at <= ")
        .bind::<Timestamp, _>(now)
        .sql(" AND id > ")
        .bind::<Text, _>(after)
        .sql(" ORDER BY id LIMIT ")
        .bind::<BigInt, _>(limit)
        .sql(end)
        .sql(" RETURNING id, exchange, routing_key, body, attempts > 1");
    let mut rows: Vec<OutboxRow> = on_backend!(db, conn => leased.load(conn))?;
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(rows)
}

/// Deletes rows that the broker confirmed. A row that another relay leased meanwhile goes too: it is out.
///
/// # Errors
/// Any database error.
pub fn delete(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    on_backend!(db, conn => diesel::delete(outbox::table.filter(outbox::id.eq_any(ids))).execute(conn))
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
    let ours = outbox::lease_owner.eq(owner);
    let free = (
        outbox::available_at.eq(available_at),
        outbox::lease_owner.eq(None::<String>),
        outbox::attempts.eq(0),
    );
    on_backend!(db, conn => diesel::update(outbox::table.filter(outbox::id.eq_any(ids)).filter(ours))
        .set(free)
        .execute(conn))
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

/// Counts what waits. The cost does not grow with it.
///
/// # Errors
/// Any database error.
pub fn stats(db: &mut Db) -> QueryResult<OutboxStats> {
    let pending = count_some(db, "outbox WHERE state = 'pending'")?;
    // Ids sort by time, and only they are indexed.
    let oldest = outbox::table
        .filter(is_pending())
        .order(outbox::id)
        .select(outbox::created_at)
        .first(db)
        .optional()?;
    let unroutable = count_unroutable(db)?;
    Ok(OutboxStats {
        pending,
        oldest,
        unroutable,
    })
}

/// Whether a row can be leased. Looks past those that are under way, of which there are few.
///
/// # Errors
/// Any database error.
pub fn is_any_due(db: &mut Db, now: NaiveDateTime) -> QueryResult<bool> {
    let due = outbox::table
        .filter(is_pending().and(outbox::available_at.le(now)))
        .order(outbox::id)
        .select(outbox::id)
        .first::<String>(db)
        .optional()?;
    Ok(due.is_some())
}

/// Written out rather than bound: only then does SQLite see that the index of what waits serves it.
fn is_pending() -> diesel::expression::SqlLiteral<diesel::sql_types::Bool> {
    sql("outbox.state = 'pending'")
}
