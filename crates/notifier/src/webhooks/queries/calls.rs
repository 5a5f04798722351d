use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, count_some, on_backend};
use diesel::dsl::min;
use diesel::prelude::*;
use event_types::WebhookOutcome;

use crate::schema::{webhook_calls as calls, webhooks};
use crate::webhooks::model::{CallRow, NewCall, PENDING, REMOVED, SENDING, name};

pub(in crate::webhooks) fn insert_call(db: &mut Db, row: &NewCall) -> QueryResult<()> {
    diesel::insert_into(calls::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// Puts back what a holder that is gone was making, and says how many those were.
pub(in crate::webhooks) fn reopen_abandoned(db: &mut Db, webhook_id: i64) -> QueryResult<usize> {
    diesel::update(open(webhook_id).filter(calls::state.eq(SENDING)))
        .set(calls::state.eq(PENDING))
        .execute(db)
}

/// Open calls whose time is over.
pub(in crate::webhooks) fn list_expired(
    db: &mut Db,
    webhook_id: i64,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<CallRow>> {
    open(webhook_id)
        .filter(calls::give_up_at.le(now))
        .order((calls::give_up_at, calls::delivery_id))
        .limit(limit)
        .select(columns())
        .load(db)
}

/// Open calls that this revision of the webhook, or an older one, was meant for.
pub(in crate::webhooks) fn list_open(
    db: &mut Db,
    webhook_id: i64,
    revision: i64,
    limit: i64,
) -> QueryResult<Vec<CallRow>> {
    open(webhook_id)
        .filter(calls::revision.le(revision))
        .order((calls::next_attempt_at, calls::delivery_id))
        .limit(limit)
        .select(columns())
        .load(db)
}

/// The call whose turn it is.
pub(in crate::webhooks) fn find_next(
    db: &mut Db,
    webhook_id: i64,
    revision: i64,
    now: NaiveDateTime,
) -> QueryResult<Option<CallRow>> {
    open(webhook_id)
        .filter(calls::revision.le(revision))
        .filter(calls::next_attempt_at.le(now))
        .order((calls::next_attempt_at, calls::delivery_id))
        .select(columns())
        .first(db)
        .optional()
}

/// When a call for this revision is next to be made, and when the first one is given up.
pub(in crate::webhooks) fn next_moments(
    db: &mut Db,
    webhook_id: i64,
    revision: i64,
) -> QueryResult<(Option<NaiveDateTime>, Option<NaiveDateTime>)> {
    let next_attempt = open(webhook_id)
        .filter(calls::revision.le(revision))
        .select(min(calls::next_attempt_at))
        .first(db)?;
    let first_given_up = open(webhook_id).select(min(calls::give_up_at)).first(db)?;
    Ok((next_attempt, first_given_up))
}

/// Marks a call as being made.
pub(in crate::webhooks) fn start_sending(db: &mut Db, delivery_id: &str) -> QueryResult<()> {
    diesel::update(calls::table.find(delivery_id))
        .set((
            calls::state.eq(SENDING),
            calls::attempts.eq(calls::attempts + 1),
            calls::tries.eq(calls::tries + 1),
        ))
        .execute(db)
        .map(drop)
}

/// Puts an open call back until `at`; `step` is that of the word about it. False when it was settled.
pub(in crate::webhooks) fn postpone(
    db: &mut Db,
    delivery_id: &str,
    step: i64,
    at: NaiveDateTime,
    reason: &str,
) -> QueryResult<bool> {
    let one = calls::table.find(delivery_id);
    let changed = diesel::update(one.filter(calls::settled_at.is_null()))
        .set((
            calls::state.eq(PENDING),
            calls::step.eq(step),
            calls::next_attempt_at.eq(at),
            calls::reason.eq(Some(reason)),
        ))
        .execute(db)?;
    Ok(changed == 1)
}

/// Ends a call; false when it had ended before.
pub(in crate::webhooks) fn settle(
    db: &mut Db,
    delivery_id: &str,
    step: i64,
    outcome: WebhookOutcome,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let one = calls::table.find(delivery_id);
    let settled = diesel::update(one.filter(calls::settled_at.is_null()))
        .set((
            calls::state.eq(name(outcome)),
            calls::step.eq(step),
            calls::settled_at.eq(Some(now)),
        ))
        .execute(db)?;
    Ok(settled == 1)
}

/// Opens a settled call of a webhook again, with all its tries before it; false when there is none.
pub(in crate::webhooks) fn reopen(
    db: &mut Db,
    webhook_id: i64,
    delivery_id: &str,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<bool> {
    let settled = calls::table
        .find(delivery_id)
        .filter(calls::webhook_id.eq(webhook_id))
        .filter(calls::settled_at.is_not_null());
    let reopened = diesel::update(settled)
        .set((
            calls::state.eq(PENDING),
            calls::tries.eq(0),
            calls::next_attempt_at.eq(now),
            calls::give_up_at.eq(give_up_at),
            calls::reason.eq(None::<String>),
            calls::settled_at.eq(None::<NaiveDateTime>),
        ))
        .execute(db)?;
    Ok(reopened == 1)
}

/// Whether there is such a call.
pub(in crate::webhooks) fn exists(db: &mut Db, delivery_id: &str) -> QueryResult<bool> {
    let found = calls::table
        .find(delivery_id)
        .select(calls::delivery_id)
        .first::<String>(db);
    Ok(found.optional()?.is_some())
}

/// How many calls are open, counted up to 10,000.
pub(in crate::webhooks) fn count_open(db: &mut Db) -> QueryResult<i64> {
    count_some(db, "webhook_calls WHERE settled_at IS NULL")
}

/// Deletes up to `limit` calls of a webhook that is gone, and says how many.
pub(in crate::webhooks) fn delete_calls(
    db: &mut Db,
    webhook_id: i64,
    limit: i64,
) -> QueryResult<usize> {
    let some = calls::table
        .filter(calls::webhook_id.eq(webhook_id))
        .limit(limit)
        .select(calls::delivery_id);
    let ids: Vec<String> = some.load(db)?;
    diesel::delete(calls::table.filter(calls::delivery_id.eq_any(&ids))).execute(db)
}

/// Deletes up to `limit` calls that tell of a user's doing, and says how many.
pub(in crate::webhooks) fn delete_calls_about(
    db: &mut Db,
    user: UserId,
    limit: i64,
) -> QueryResult<usize> {
    let some = calls::table
        .filter(calls::user_id.eq(user.get()))
        .limit(limit)
        .select(calls::delivery_id);
    let ids: Vec<String> = some.load(db)?;
    diesel::delete(calls::table.filter(calls::delivery_id.eq_any(&ids))).execute(db)
}

/// Forgets calls that were settled before `until`, at most `most`, and webhooks that were taken away then.
pub(in crate::webhooks) fn forget_before(
    db: &mut Db,
    until: NaiveDateTime,
    most: i64,
) -> QueryResult<()> {
    let old = calls::settled_at
        .is_not_null()
        .and(calls::settled_at.lt(until));
    let oldest = calls::table
        .filter(old)
        .order(calls::settled_at)
        .limit(most)
        .select(calls::delivery_id)
        .load::<String>(db)?;
    on_backend!(db, conn => diesel::delete(calls::table.filter(calls::delivery_id.eq_any(&oldest))).execute(conn))?;
    let gone = webhooks::table
        .filter(webhooks::state.eq(REMOVED))
        .filter(webhooks::updated_at.lt(until))
        .filter(webhooks::due_at.is_null());
    diesel::delete(gone).execute(db).map(drop)
}

type Open = diesel::dsl::Filter<
    diesel::dsl::Filter<calls::table, diesel::dsl::Eq<calls::webhook_id, i64>>,
    diesel::dsl::IsNull<calls::settled_at>,
>;

fn open(webhook_id: i64) -> Open {
    calls::table
        .filter(calls::webhook_id.eq(webhook_id))
        .filter(calls::settled_at.is_null())
}

type Columns = (
    calls::delivery_id,
    calls::webhook_id,
    calls::request_id,
    calls::body,
    calls::step,
    calls::attempts,
    calls::tries,
    calls::give_up_at,
    calls::reason,
);

fn columns() -> Columns {
    (
        calls::delivery_id,
        calls::webhook_id,
        calls::request_id,
        calls::body,
        calls::step,
        calls::attempts,
        calls::tries,
        calls::give_up_at,
        calls::reason,
    )
}
