use std::collections::{HashMap, HashSet};

use chrono::NaiveDateTime;
use db_kit::{COUNTED, Db, DbBackend, json, statement};
use diesel::dsl::max;
use diesel::expression::BoxableExpression;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp};
use serde::Serialize;

use crate::delivery::model::{Attempt, DeliveryRow, DeliverySql, DestinationRow, NewDelivery};
use crate::delivery::state_machine::{FinalState, LOCKED, PENDING, SENDING};
use crate::schema::deliveries;

/// Inserts deliveries and returns the ids of the new ones.
pub(crate) fn insert(db: &mut Db, rows: &[NewDelivery]) -> QueryResult<HashSet<String>> {
    let text = match db {
        Db::Pg(_) => include_str!("insert.postgres.sql"),
        Db::Sqlite(_) => include_str!("insert.sqlite.sql"),
    };
    let mut new = HashSet::new();
    for rows in json::arguments(db, rows)? {
        let insert = statement::<(Text,)>(text).bind::<Text, _>(rows);
        let ids = insert.load::<(String,)>(db)?;
        new.extend(ids.into_iter().map(|(id,)| id));
    }
    Ok(new)
}

/// A delivery and the message in which it is sent, for `record_start.*.sql`.
#[derive(Serialize)]
struct Started<'a> {
    id: &'a str,
    message_id: &'a str,
}

/// Marks the deliveries of these attempts as being sent, each in its message.
pub(crate) fn record_start(db: &mut Db, attempts: &[Attempt]) -> QueryResult<()> {
    let text = match db {
        Db::Pg(_) => include_str!("record_start.postgres.sql"),
        Db::Sqlite(_) => include_str!("record_start.sqlite.sql"),
    };
    let started = attempts.iter().flat_map(|attempt| {
        attempt.deliveries.iter().map(|row| Started {
            id: &row.id,
            message_id: &attempt.message_id,
        })
    });
    for rows in json::arguments(db, &started.collect::<Vec<_>>())? {
        statement::<()>(text).bind::<Text, _>(rows).execute(db)?;
    }
    Ok(())
}

/// Makes deliveries pending again that were being sent under an expired lease, as the same message. Returns their number.
pub(crate) fn reopen_abandoned(db: &mut Db, medium: &str, id: &str) -> QueryResult<usize> {
    let give_up_at: Option<NaiveDateTime> = open(medium, id)
        .filter(deliveries::state.eq(SENDING))
        .select(max(deliveries::give_up_at))
        .first(db)?;
    let Some(give_up_at) = give_up_at else {
        return Ok(0);
    };
    diesel::update(open(medium, id).filter(deliveries::state.eq(SENDING)))
        .set((
            deliveries::state.eq(PENDING),
            deliveries::give_up_at.eq(give_up_at),
        ))
        .execute(db)
}

/// Returns which of these destinations have expired open deliveries.
pub(crate) fn list_with_expired(
    db: &mut Db,
    medium: &str,
    ids: &[&str],
    now: NaiveDateTime,
) -> QueryResult<HashSet<String>> {
    let found: Vec<String> = deliveries::table
        .filter(deliveries::medium.eq(medium))
        .filter(deliveries::destination_id.eq_any(ids))
        .filter(deliveries::settled_at.is_null())
        .filter(deliveries::give_up_at.le(now))
        .filter(deliveries::state.ne(LOCKED))
        .select(deliveries::destination_id)
        .distinct()
        .load(db)?;
    Ok(found.into_iter().collect())
}

/// Lists expired open deliveries, without the locked ones.
pub(crate) fn list_expired(
    db: &mut Db,
    medium: &str,
    id: &str,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    open(medium, id)
        .filter(deliveries::give_up_at.le(now))
        .filter(deliveries::state.ne(LOCKED))
        .order((deliveries::give_up_at, deliveries::id))
        .limit(limit)
        .select(DeliveryRow::as_select())
        .load(db)
}

/// Lists open deliveries for this revision of the destination or an older one.
pub(crate) fn list_open(
    db: &mut Db,
    medium: &str,
    destination: &DestinationRow,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    open(medium, &destination.id)
        .filter(deliveries::revision.le(destination.revision))
        .order((deliveries::next_attempt_at, deliveries::id))
        .limit(limit)
        .select(DeliveryRow::as_select())
        .load(db)
}

/// A destination and how many of its deliveries are listed, for `list_ready.*.sql`.
#[derive(Serialize)]
struct Due<'a> {
    medium: &'a str,
    id: &'a str,
    revision: i64,
    #[serde(serialize_with = "json::timestamp")]
    now: NaiveDateTime,
    most: i64,
}

/// Returns the deliveries that can be sent now, by destination and in their order, `limit` of each at most.
pub(crate) fn list_ready<'a>(
    db: &mut Db,
    medium: &str,
    destinations: impl Iterator<Item = &'a DestinationRow>,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<HashMap<String, Vec<DeliveryRow>>> {
    let text = match db {
        Db::Pg(_) => include_str!("list_ready.postgres.sql"),
        Db::Sqlite(_) => include_str!("list_ready.sqlite.sql"),
    };
    let due = destinations.map(|row| Due {
        medium,
        id: &row.id,
        revision: row.revision,
        now,
        most: limit,
    });
    let mut ready: HashMap<String, Vec<DeliveryRow>> = HashMap::new();
    for due in json::arguments(db, &due.collect::<Vec<_>>())? {
        let query = statement::<DeliverySql>(text).bind::<Text, _>(due);
        for row in query.load::<DeliveryRow>(db)? {
            let rows = ready.entry(row.destination_id.clone()).or_default();
            rows.push(row);
        }
    }
    Ok(ready)
}

/// Counts open deliveries, up to [`COUNTED`].
pub(crate) fn count_open(db: &mut Db, medium: &str) -> QueryResult<i64> {
    let count = statement::<BigInt>(
        "SELECT count(*) FROM (SELECT 1 AS one FROM deliveries WHERE medium = $1 AND settled_at IS NULL LIMIT $2) AS counted",
    )
    .bind::<Text, _>(medium)
    .bind::<BigInt, _>(COUNTED);
    count.get_result(db)
}

/// Lists the deliveries of a message that was sent before.
pub(crate) fn list_message(
    db: &mut Db,
    medium: &str,
    id: &str,
    message_id: &str,
) -> QueryResult<Vec<DeliveryRow>> {
    open(medium, id)
        .filter(deliveries::message_id.eq(message_id))
        .order(deliveries::id)
        .select(DeliveryRow::as_select())
        .load(db)
}

/// How deliveries return to the queue.
pub(crate) struct RetryUpdate<'a> {
    pub(crate) state: &'static str,
    pub(crate) at: NaiveDateTime,
    pub(crate) give_up_at: NaiveDateTime,
    pub(crate) reason: &'a str,
}

/// Lets deliveries wait for their next attempt in the same message. Returns the steps of those that had not ended.
pub(crate) fn retry(
    db: &mut Db,
    ids: &[&str],
    update: &RetryUpdate<'_>,
) -> QueryResult<HashMap<String, i64>> {
    let rows: Vec<(String, i64)> = diesel::update(
        deliveries::table
            .filter(deliveries::id.eq_any(ids))
            .filter(is_open()),
    )
    .set((
        deliveries::state.eq(update.state),
        deliveries::step.eq(deliveries::step + 1),
        deliveries::next_attempt_at.eq(update.at),
        deliveries::give_up_at.eq(update.give_up_at),
        deliveries::reason.eq(Some(update.reason)),
    ))
    .returning((deliveries::id, deliveries::step))
    .get_results(db)?;
    Ok(rows.into_iter().collect())
}

/// Ends the waits of a destination's deliveries for their next attempt.
pub(crate) fn retry_now(
    db: &mut Db,
    medium: &str,
    id: &str,
    now: NaiveDateTime,
) -> QueryResult<()> {
    let waiting = open(medium, id)
        .filter(deliveries::state.eq(PENDING))
        .filter(deliveries::attempts.gt(0))
        .filter(deliveries::next_attempt_at.gt(now));
    diesel::update(waiting)
        .set(deliveries::next_attempt_at.eq(now))
        .execute(db)
        .map(drop)
}

/// Splits a message: each delivery becomes a message of its own.
pub(crate) fn split(
    db: &mut Db,
    ids: &[&str],
    now: NaiveDateTime,
    reason: &str,
) -> QueryResult<()> {
    diesel::update(
        deliveries::table
            .filter(deliveries::id.eq_any(ids))
            .filter(is_open()),
    )
    .set((
        deliveries::state.eq(PENDING),
        deliveries::next_attempt_at.eq(now),
        deliveries::reason.eq(Some(reason)),
        deliveries::message_id.eq(deliveries::id.nullable()),
    ))
    .execute(db)
    .map(drop)
}

/// Makes deliveries pending again, also locked ones, as if the attempt had not been made.
pub(crate) fn requeue(
    db: &mut Db,
    ids: &[&str],
    message_id: Option<&str>,
    at: Option<NaiveDateTime>,
    reason: Option<&str>,
) -> QueryResult<()> {
    diesel::update(
        deliveries::table
            .filter(deliveries::id.eq_any(ids))
            .filter(is_open()),
    )
    .set((
        deliveries::state.eq(PENDING),
        deliveries::attempts.eq(deliveries::attempts - 1),
        deliveries::tries.eq(deliveries::tries - 1),
        deliveries::message_id.eq(message_id),
        at.map(|at| deliveries::next_attempt_at.eq(at)),
        reason.map(|reason| deliveries::reason.eq(Some(reason))),
    ))
    .execute(db)
    .map(drop)
}

/// Ends deliveries and returns the steps of those that had not already ended. User text is not stored longer than
/// needed.
pub(crate) fn record_end(
    db: &mut Db,
    ids: &[&str],
    state: FinalState,
    reason: Option<&str>,
    keep_payload: bool,
    now: NaiveDateTime,
) -> QueryResult<HashMap<String, i64>> {
    let text = match db {
        Db::Pg(_) => include_str!("record_end.postgres.sql"),
        Db::Sqlite(_) => include_str!("record_end.sqlite.sql"),
    };
    let rows: Vec<(String, i64)> = statement::<(Text, BigInt)>(text)
        .bind::<Text, _>(state.name())
        .bind::<Nullable<Text>, _>(reason)
        .bind::<Timestamp, _>(now)
        .bind::<Bool, _>(keep_payload)
        .bind::<Text, _>(json::to_text(&ids)?)
        .load(db)?;
    Ok(rows.into_iter().collect())
}

/// Deletes up to `limit` calls of a removed webhook and returns their number. Only webhook calls have a `user_id`, so this
/// condition stands for the medium; the ids of projects and webhooks may be equal.
pub(crate) fn delete_webhook_calls(db: &mut Db, id: &str, limit: i64) -> QueryResult<usize> {
    let some = deliveries::table
        .filter(deliveries::destination_id.eq(id))
        .filter(deliveries::user_id.is_not_null())
        .limit(limit)
        .select(deliveries::id);
    let ids: Vec<String> = some.load(db)?;
    diesel::delete(deliveries::table.filter(deliveries::id.eq_any(&ids))).execute(db)
}

/// Deletes at most `limit` deliveries that were settled before `until` and returns their number. No delivery was
/// created after it was settled. So they come first in the order of ids, which begin with the time of creation
/// (UUIDv7, RFC 9562 section 5.7). No other index is needed.
pub(crate) fn delete_settled_before(
    db: &mut Db,
    until: NaiveDateTime,
    limit: i64,
) -> QueryResult<usize> {
    let milliseconds = until.and_utc().timestamp_millis();
    let first_later = format!("{:08x}-{:04x}", milliseconds >> 16, milliseconds & 0xffff);
    let oldest = deliveries::table
        .filter(deliveries::id.lt(first_later))
        .filter(deliveries::settled_at.lt(until))
        .order(deliveries::id)
        .limit(limit)
        .select(deliveries::id)
        .load::<String>(db)?;
    diesel::delete(deliveries::table.filter(deliveries::id.eq_any(&oldest))).execute(db)
}

#[diesel::dsl::auto_type]
fn open<'a>(medium: &'a str, id: &'a str) -> _ {
    deliveries::table
        .filter(deliveries::medium.eq(medium))
        .filter(deliveries::destination_id.eq(id))
        .filter(deliveries::settled_at.is_null())
}

type Condition = Box<dyn BoxableExpression<deliveries::table, DbBackend, SqlType = Bool>>;

/// Equivalent to `settled_at` being null. With that condition, PostgreSQL would read all open rows instead of those
/// with the given ids.
fn is_open() -> Condition {
    let waits = deliveries::state
        .eq(PENDING)
        .or(deliveries::state.eq(LOCKED));
    Box::new(waits.or(deliveries::state.eq(SENDING)))
}
