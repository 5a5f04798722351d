use std::collections::HashSet;

use chrono::NaiveDateTime;
use db_kit::{Db, count_some, on_backend, prepared};
use diesel::dsl::{SqlTypeOf, max, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Timestamp};

use super::ends::TELLABLE;
use crate::chat::model::{DeliveryRow, DestinationRow, Ending, Job, PENDING};
use crate::schema::{deliveries, destinations};

/// Writes down that a message was tried that a holder who is gone was sending, and what it is composed of: it is sent
/// again as it was. Says how many of its deliveries are open.
pub(in crate::chat) fn record_abandoned(
    db: &mut Db,
    batch_id: &str,
    event_ids: &[&str],
) -> QueryResult<usize> {
    let still_open = || {
        deliveries::table
            .filter(deliveries::event_id.eq_any(event_ids.to_vec()))
            .filter(is_open())
    };
    let give_up_at: Option<NaiveDateTime> = on_backend!(db, conn => still_open()
        .select(max(deliveries::give_up_at))
        .first(conn))?;
    let Some(give_up_at) = give_up_at else {
        return Ok(0);
    };
    on_backend!(db, conn => diesel::update(still_open())
        .set((
            deliveries::attempts.eq(deliveries::attempts + 1),
            deliveries::batch_id.eq(batch_id),
            deliveries::give_up_at.eq(give_up_at),
        ))
        .execute(conn))
}

/// Open deliveries of these projects whose time is over.
pub(in crate::chat) fn list_expired(
    db: &mut Db,
    projects: &[i64],
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    on_backend!(db, conn => deliveries::table
        .filter(deliveries::project_id.eq_any(projects))
        .filter(deliveries::settled_at.is_null())
        .filter(deliveries::give_up_at.le(now))
        .order((deliveries::give_up_at, deliveries::event_id))
        .limit(limit)
        .select(columns())
        .load(conn))
}

/// Open deliveries that this revision of the hook, or an older one, was meant for.
pub(in crate::chat) fn list_open(
    db: &mut Db,
    project_id: i64,
    revision: i64,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    open(project_id)
        .filter(deliveries::revision.le(revision))
        .order((deliveries::next_attempt_at, deliveries::event_id))
        .limit(limit)
        .select(columns())
        .load(db)
}

/// Open deliveries whose turn it is, up to `limit` of each hook in their order: the next message, or what it is composed
/// of. They were meant for the hook's revision, or an older one.
pub(in crate::chat) fn list_ready(
    db: &mut Db,
    hooks: &[&DestinationRow],
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    match db {
        Db::Pg(conn) => {
            let projects: Vec<i64> = hooks.iter().map(|hook| hook.project_id).collect();
            prepared::<SqlTypeOf<Columns>>(
                "SELECT event_id, session_id, ready.project_id, request_id, payload, attempts, give_up_at, ready.reason, \
                   kind, batch_id \
                 FROM destinations AS hook CROSS JOIN LATERAL (SELECT * FROM deliveries \
                   WHERE project_id = hook.project_id AND settled_at IS NULL AND revision <= hook.revision \
                   AND next_attempt_at <= ",
            )
            .bind::<Timestamp, _>(now)
            .sql(" AND give_up_at > ")
            .bind::<Timestamp, _>(now)
            .sql(" AND ")
            .sql(TELLABLE)
            .sql(" ORDER BY next_attempt_at, event_id LIMIT ")
            .bind::<BigInt, _>(limit)
            .sql(") AS ready WHERE hook.project_id = ANY(")
            .bind::<Array<BigInt>, _>(projects)
            .sql(") ORDER BY ready.project_id, ready.next_attempt_at, ready.event_id")
            .load(conn)
        }
        Db::Sqlite(conn) => {
            let mut ready = Vec::new();
            for hook in hooks {
                let of_hook: Vec<DeliveryRow> = open(hook.project_id)
                    .filter(deliveries::revision.le(hook.revision))
                    .filter(deliveries::next_attempt_at.le(now))
                    .filter(deliveries::give_up_at.gt(now))
                    .filter(sql::<Bool>(TELLABLE))
                    .order((deliveries::next_attempt_at, deliveries::event_id))
                    .limit(limit)
                    .select(columns())
                    .load(conn)?;
                ready.extend(of_hook);
            }
            Ok(ready)
        }
    }
}

/// What a message that was tried before is composed of.
pub(in crate::chat) fn list_batch(
    db: &mut Db,
    project_id: i64,
    batch_id: &str,
) -> QueryResult<Vec<DeliveryRow>> {
    open(project_id)
        .filter(deliveries::batch_id.eq(batch_id))
        .order(deliveries::event_id)
        .select(columns())
        .load(db)
}

/// Of each hook, its project, and when a delivery for its revision is next to be tried and when one is given up.
pub(in crate::chat) type Moments = (i64, Option<NaiveDateTime>, Option<NaiveDateTime>);

/// What is next of these hooks.
pub(in crate::chat) fn next_moments(db: &mut Db, projects: &[i64]) -> QueryResult<Vec<Moments>> {
    let of_hook = "FROM deliveries WHERE deliveries.project_id = destinations.project_id AND deliveries.settled_at IS NULL";
    let next_attempt = sql::<Nullable<Timestamp>>(&format!(
        "(SELECT min(deliveries.next_attempt_at) {of_hook} AND deliveries.revision <= destinations.revision AND {TELLABLE})"
    ));
    let first_given_up =
        sql::<Nullable<Timestamp>>(&format!("(SELECT min(deliveries.give_up_at) {of_hook})"));
    on_backend!(db, conn => destinations::table
        .filter(destinations::project_id.eq_any(projects))
        .select((destinations::project_id, next_attempt, first_given_up))
        .load(conn))
}

/// Puts a message that was tried back until `at`, and writes down what it is composed of.
pub(in crate::chat) fn postpone(
    db: &mut Db,
    job: &Job,
    at: NaiveDateTime,
    reason: Option<&str>,
) -> QueryResult<()> {
    let back = (
        deliveries::state.eq(PENDING),
        deliveries::attempts.eq(deliveries::attempts + 1),
        deliveries::batch_id.eq(&job.batch_id),
        deliveries::give_up_at.eq(job.give_up_at),
        deliveries::next_attempt_at.eq(at),
        deliveries::reason.eq(reason),
    );
    on_backend!(db, conn => diesel::update(
            deliveries::table
                .filter(deliveries::event_id.eq_any(job.event_ids()))
                .filter(is_open()),
        )
        .set(back)
        .execute(conn))
    .map(drop)
}

/// Takes a message that was tried apart: each notification is one of its own from now on.
pub(in crate::chat) fn part(
    db: &mut Db,
    event_ids: &[&str],
    at: NaiveDateTime,
    reason: &str,
) -> QueryResult<()> {
    let apart = (
        deliveries::state.eq(PENDING),
        deliveries::attempts.eq(deliveries::attempts + 1),
        deliveries::next_attempt_at.eq(at),
        deliveries::reason.eq(reason),
        deliveries::batch_id.eq(deliveries::event_id.nullable()),
    );
    on_backend!(db, conn => diesel::update(
            deliveries::table
                .filter(deliveries::event_id.eq_any(event_ids))
                .filter(is_open()),
        )
        .set(apart)
        .execute(conn))
    .map(drop)
}

/// Ends deliveries, after so many more tries, and gives those that had not ended before. What people wrote is not kept
/// longer than needed.
pub(in crate::chat) fn settle(
    db: &mut Db,
    event_ids: &[&str],
    tries: i64,
    ending: Ending,
    reason: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<HashSet<String>> {
    let ended = (
        deliveries::state.eq(ending.name()),
        deliveries::attempts.eq(deliveries::attempts + tries),
        deliveries::payload.eq(None::<String>),
        deliveries::reason.eq(reason),
        deliveries::settled_at.eq(Some(now)),
    );
    let settled: Vec<String> = on_backend!(db, conn => diesel::update(
            deliveries::table
                .filter(deliveries::event_id.eq_any(event_ids))
                .filter(is_open()),
        )
        .set(ended)
        .returning(deliveries::event_id)
        .load(conn))?;
    Ok(settled.into_iter().collect())
}

/// How many deliveries are open, counted up to 10,000.
pub(in crate::chat) fn count_open(db: &mut Db) -> QueryResult<i64> {
    count_some(db, "deliveries WHERE settled_at IS NULL")
}

/// Forgets deliveries that were settled before `until`, at most `most`, and says how many. None of them was made later than it
/// was settled: they come first by their ids, which begin with when that was (UUIDv7, RFC 9562 section 5.7), and so no index is
/// kept for this alone.
pub(in crate::chat) fn forget_settled_before(
    db: &mut Db,
    until: NaiveDateTime,
    most: i64,
) -> QueryResult<usize> {
    let milliseconds = until.and_utc().timestamp_millis();
    let first_later = format!("{:08x}-{:04x}", milliseconds >> 16, milliseconds & 0xffff);
    let old = deliveries::event_id
        .lt(first_later)
        .and(deliveries::settled_at.lt(until));
    let oldest = deliveries::table
        .filter(old)
        .order(deliveries::event_id)
        .limit(most)
        .select(deliveries::event_id)
        .load::<String>(db)?;
    on_backend!(db, conn => diesel::delete(deliveries::table.filter(deliveries::event_id.eq_any(&oldest))).execute(conn))
}

type Open = diesel::dsl::Filter<
    diesel::dsl::Filter<deliveries::table, diesel::dsl::Eq<deliveries::project_id, i64>>,
    diesel::dsl::IsNull<deliveries::settled_at>,
>;

/// Says the same as that `settled_at` is null. Of rows that are known by their ids PostgreSQL would, told so, read
/// all that are open.
fn is_open() -> SqlLiteral<Bool> {
    sql("deliveries.state IN ('pending', 'sending')")
}

fn open(project_id: i64) -> Open {
    deliveries::table
        .filter(deliveries::project_id.eq(project_id))
        .filter(deliveries::settled_at.is_null())
}

type Columns = (
    deliveries::event_id,
    deliveries::session_id,
    deliveries::project_id,
    deliveries::request_id,
    deliveries::payload,
    deliveries::attempts,
    deliveries::give_up_at,
    deliveries::reason,
    deliveries::kind,
    deliveries::batch_id,
);

fn columns() -> Columns {
    (
        deliveries::event_id,
        deliveries::session_id,
        deliveries::project_id,
        deliveries::request_id,
        deliveries::payload,
        deliveries::attempts,
        deliveries::give_up_at,
        deliveries::reason,
        deliveries::kind,
        deliveries::batch_id,
    )
}

#[cfg(test)]
#[path = "deliveries_tests.rs"]
mod tests;
