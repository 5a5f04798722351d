use std::collections::{BTreeSet, HashSet};

use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::dsl::{exists, min, not, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamp};

use crate::chat::model::{DeliveryRow, Ending, Kind, NewDelivery, PENDING, SENDING};
use crate::schema::deliveries;

/// Writes notifications down, as many as there are in one statement where the database can.
pub(in crate::chat) fn insert_deliveries(db: &mut Db, rows: &[NewDelivery]) -> QueryResult<()> {
    let conn = match db {
        Db::Pg(conn) if rows.len() > 1 => conn,
        _ => {
            return rows.iter().try_for_each(|row| {
                diesel::insert_into(deliveries::table)
                    .values(row)
                    .execute(db)
                    .map(drop)
            });
        }
    };
    fn column<'a, T>(rows: &'a [NewDelivery], of: impl Fn(&'a NewDelivery) -> T) -> Vec<T> {
        rows.iter().map(of).collect()
    }
    // As arrays: one value a column, however many rows, spares the server thousands of parameters.
    diesel::sql_query(
        "INSERT INTO deliveries (event_id, session_id, project_id, revision, request_id, payload, state, attempts, \
             next_attempt_at, give_up_at, reason, created_at, settled_at, kind) \
         SELECT event_id, session_id, project_id, revision, request_id, payload, state, 0, \
             next_attempt_at, give_up_at, reason, created_at, settled_at, kind \
         FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS new (event_id, session_id, project_id, \
             revision, request_id, payload, state, next_attempt_at, give_up_at, reason, created_at, settled_at, kind)",
    )
    .bind::<Array<Text>, _>(column(rows, |row| row.event_id.as_str()))
    .bind::<Array<Text>, _>(column(rows, |row| row.session_id.as_str()))
    .bind::<Array<BigInt>, _>(column(rows, |row| row.project_id))
    .bind::<Array<BigInt>, _>(column(rows, |row| row.revision))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.request_id.as_deref()))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.payload.as_deref()))
    .bind::<Array<Text>, _>(column(rows, |row| row.state))
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.next_attempt_at))
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.give_up_at))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.reason.as_deref()))
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.created_at))
    .bind::<Array<Nullable<Timestamp>>, _>(column(rows, |row| row.settled_at))
    .bind::<Array<Text>, _>(column(rows, |row| row.kind))
    .execute(conn)
    .map(drop)
}

/// Those of these sessions whose plan is written down, told or not.
pub(in crate::chat) fn plans_among(
    db: &mut Db,
    sessions: &[String],
) -> QueryResult<HashSet<String>> {
    let known: Vec<String> = on_backend!(db, conn => deliveries::table
        .filter(deliveries::session_id.eq_any(sessions))
        .filter(deliveries::kind.eq(Kind::Plan.name()))
        .select(deliveries::session_id)
        .load(conn))?;
    Ok(known.into_iter().collect())
}

/// Lets what came before its plan go as soon as that is told, and says of which projects there was some.
pub(in crate::chat) fn release_ends(
    db: &mut Db,
    sessions: &[String],
    now: NaiveDateTime,
) -> QueryResult<BTreeSet<i64>> {
    // Written out rather than bound: only then is the index of such ends seen to serve it.
    let waiting = sql::<Bool>(
        "deliveries.kind IN ('finished', 'abandoned') AND deliveries.settled_at IS NULL",
    )
    .and(deliveries::attempts.eq(0));
    let released: Vec<i64> = on_backend!(db, conn => diesel::update(
            deliveries::table.filter(deliveries::session_id.eq_any(sessions)).filter(waiting),
        )
        .set(deliveries::next_attempt_at.eq(now))
        .returning(deliveries::project_id)
        .load(conn))?;
    Ok(released.into_iter().collect())
}

/// Puts back what a holder that is gone was sending, and says how many those were.
pub(in crate::chat) fn reopen_abandoned(db: &mut Db, project_id: i64) -> QueryResult<usize> {
    diesel::update(open(project_id).filter(deliveries::state.eq(SENDING)))
        .set(deliveries::state.eq(PENDING))
        .execute(db)
}

/// Open deliveries whose time is over.
pub(in crate::chat) fn list_expired(
    db: &mut Db,
    project_id: i64,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    open(project_id)
        .filter(deliveries::give_up_at.le(now))
        .order((deliveries::give_up_at, deliveries::event_id))
        .limit(limit)
        .select(columns())
        .load(db)
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

/// Open deliveries that this revision of the hook, or an older one, was meant for, without ends of sessions
/// whose plan waits. A macro, because the type has no name that one could write.
macro_rules! tellable {
    ($project_id:expr, $revision:expr) => {{
        let plans = diesel::alias!(deliveries as plans);
        let its_plan_waits = plans
            .filter(
                plans
                    .field(deliveries::session_id)
                    .eq(deliveries::session_id),
            )
            .filter(plans.field(deliveries::kind).eq(Kind::Plan.name()))
            .filter(plans.field(deliveries::settled_at).is_null());
        let is_end = deliveries::kind.eq_any([Kind::Finished.name(), Kind::Abandoned.name()]);
        open($project_id)
            .filter(deliveries::revision.le($revision))
            .filter(not(is_end.and(exists(its_plan_waits))))
    }};
}

/// Open deliveries whose turn it is: the next message, or what it is composed of. How a session ended is not
/// told while its plan waits.
pub(in crate::chat) fn list_ready(
    db: &mut Db,
    project_id: i64,
    revision: i64,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    tellable!(project_id, revision)
        .filter(deliveries::next_attempt_at.le(now))
        .filter(deliveries::give_up_at.gt(now))
        .order((deliveries::next_attempt_at, deliveries::event_id))
        .limit(limit)
        .select(columns())
        .load(db)
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

/// When a delivery for this revision is next to be tried, and when one for a later revision is given up.
pub(in crate::chat) fn next_moments(
    db: &mut Db,
    project_id: i64,
    revision: i64,
) -> QueryResult<(Option<NaiveDateTime>, Option<NaiveDateTime>)> {
    let next_attempt = tellable!(project_id, revision)
        .select(min(deliveries::next_attempt_at))
        .first(db)?;
    let first_given_up = open(project_id)
        .select(min(deliveries::give_up_at))
        .first(db)?;
    Ok((next_attempt, first_given_up))
}

/// Writes down what a message is composed of, and that it is being sent. All of it is given up at once, so
/// that it stays the same message to the last try.
pub(in crate::chat) fn compose(
    db: &mut Db,
    batch_id: &str,
    event_ids: &[&str],
    give_up_at: NaiveDateTime,
) -> QueryResult<()> {
    let sent = (
        deliveries::state.eq(SENDING),
        deliveries::attempts.eq(deliveries::attempts + 1),
        deliveries::batch_id.eq(batch_id),
        deliveries::give_up_at.eq(give_up_at),
    );
    on_backend!(db, conn => diesel::update(deliveries::table.filter(deliveries::event_id.eq_any(event_ids)))
        .set(sent)
        .execute(conn))
    .map(drop)
}

/// Puts a message back until `at`.
pub(in crate::chat) fn postpone(
    db: &mut Db,
    event_ids: &[&str],
    at: NaiveDateTime,
    reason: Option<&str>,
) -> QueryResult<()> {
    let back = (
        deliveries::state.eq(PENDING),
        deliveries::next_attempt_at.eq(at),
        deliveries::reason.eq(reason),
    );
    on_backend!(db, conn => diesel::update(
            deliveries::table
                .filter(deliveries::event_id.eq_any(event_ids))
                .filter(is_open()),
        )
        .set(back)
        .execute(conn))
    .map(drop)
}

/// Takes a message apart: each notification is one of its own from now on.
pub(in crate::chat) fn part(
    db: &mut Db,
    event_ids: &[&str],
    at: NaiveDateTime,
    reason: &str,
) -> QueryResult<()> {
    let apart = (
        deliveries::state.eq(PENDING),
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

/// Ends deliveries, and gives those that had not ended before. What people wrote is not kept longer than
/// needed.
pub(in crate::chat) fn settle(
    db: &mut Db,
    event_ids: &[&str],
    ending: Ending,
    reason: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<HashSet<String>> {
    let ended = (
        deliveries::state.eq(ending.name()),
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

/// How many deliveries are open.
pub(in crate::chat) fn count_open(db: &mut Db) -> QueryResult<i64> {
    deliveries::table
        .filter(deliveries::settled_at.is_null())
        .count()
        .get_result(db)
}

/// Forgets deliveries that were settled before `until`, at most `most`, and says how many.
pub(in crate::chat) fn forget_settled_before(
    db: &mut Db,
    until: NaiveDateTime,
    most: i64,
) -> QueryResult<usize> {
    let old = deliveries::settled_at
        .is_not_null()
        .and(deliveries::settled_at.lt(until));
    let oldest = deliveries::table
        .filter(old)
        .order(deliveries::settled_at)
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
