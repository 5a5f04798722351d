use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::dsl::{min, sql};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Timestamp};
use diesel::upsert::excluded;
use event_types::WebhookOutcome;

use super::model::{
    ACTIVE, CallRow, NewCall, OFF, PENDING, REMOVED, SENDING, UNKNOWN, WebhookRow, name,
};
use crate::schema::{webhook_calls as calls, webhooks};

pub(super) fn insert_call(db: &mut Db, row: &NewCall) -> QueryResult<()> {
    diesel::insert_into(calls::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// Has a webhook looked at as soon as it may be called, at `give_up_at` at the latest, and makes its row if
/// nothing is known of it yet. While somebody holds the webhook, the holder looks again before letting go.
pub(super) fn expect(
    db: &mut Db,
    webhook_id: i64,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<()> {
    let row = (
        webhooks::webhook_id.eq(webhook_id),
        webhooks::revision.eq(0),
        webhooks::state.eq(UNKNOWN),
        webhooks::failures.eq(0),
        webhooks::free_at.eq(now),
        webhooks::due_at.eq(Some(now)),
        webhooks::updated_at.eq(now),
    );
    // The earliest of when it was to be looked at, when it may be called, and when somebody gives up.
    let sooner = sql::<Nullable<Timestamp>>(
        "CASE WHEN webhooks.lease_owner IS NOT NULL OR webhooks.due_at <= excluded.due_at THEN webhooks.due_at \
         WHEN webhooks.free_at <= excluded.due_at THEN excluded.due_at \
         WHEN webhooks.free_at <= coalesce(webhooks.due_at, webhooks.free_at) AND webhooks.free_at <= ",
    )
    .bind::<Timestamp, _>(give_up_at)
    .sql(" THEN webhooks.free_at WHEN webhooks.due_at <= ")
    .bind::<Timestamp, _>(give_up_at)
    .sql(" THEN webhooks.due_at ELSE ")
    .bind::<Timestamp, _>(give_up_at)
    .sql(" END");
    on_backend!(db, conn => diesel::insert_into(webhooks::table)
        .values(row)
        .on_conflict(webhooks::webhook_id)
        .do_update()
        .set(webhooks::due_at.eq(sooner))
        .execute(conn))
    .map(drop)
}

/// Keeps a webhook's target if it is newer than the one that is known; null takes the webhook away.
pub(super) fn configure(
    db: &mut Db,
    webhook_id: i64,
    revision: i64,
    sealed: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let row = (
        webhooks::webhook_id.eq(webhook_id),
        webhooks::revision.eq(revision),
        webhooks::state.eq(if sealed.is_some() { ACTIVE } else { REMOVED }),
        webhooks::sealed.eq(sealed),
        webhooks::failures.eq(0),
        webhooks::free_at.eq(now),
        webhooks::due_at.eq(Some(now)),
        webhooks::updated_at.eq(now),
    );
    let soon = sql::<Nullable<Timestamp>>(
        "CASE WHEN webhooks.lease_owner IS NULL THEN excluded.due_at ELSE webhooks.due_at END",
    );
    let newer = webhooks::revision.lt(excluded(webhooks::revision));
    let upsert = diesel::insert_into(webhooks::table)
        .values(row)
        .on_conflict(webhooks::webhook_id)
        .do_update()
        .set((
            webhooks::revision.eq(excluded(webhooks::revision)),
            webhooks::state.eq(excluded(webhooks::state)),
            webhooks::sealed.eq(excluded(webhooks::sealed)),
            webhooks::failures.eq(excluded(webhooks::failures)),
            webhooks::failing_since.eq(None::<NaiveDateTime>),
            webhooks::free_at.eq(excluded(webhooks::free_at)),
            webhooks::due_at.eq(soon),
            webhooks::updated_at.eq(excluded(webhooks::updated_at)),
        ));
    let changed = on_backend!(db, conn => diesel::query_dsl::methods::FilterDsl::filter(upsert, newer).execute(conn))?;
    Ok(changed == 1)
}

/// When the next webhook is to be looked at.
pub(super) fn next_due(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    webhooks::table
        .filter(webhooks::due_at.is_not_null())
        .select(min(webhooks::due_at))
        .first(db)
}

/// Webhooks that are to be looked at and that nobody holds, or whose holder is gone. Locked until the
/// transaction ends; those that another process is taking now are left to it.
pub(super) fn list_due(
    db: &mut Db,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<WebhookRow>> {
    let due = webhooks::table
        .filter(webhooks::due_at.is_not_null().and(webhooks::due_at.le(now)))
        .order((webhooks::due_at, webhooks::webhook_id))
        .limit(limit);
    match db {
        Db::Pg(conn) => due
            .select(WebhookRow::as_select())
            .for_update()
            .skip_locked()
            .load(conn),
        Db::Sqlite(conn) => due.select(WebhookRow::as_select()).load(conn),
    }
}

/// A webhook, locked until the transaction ends: whoever adds a call meanwhile waits, so that its row is
/// not overlooked when the next look is decided.
pub(super) fn lock(db: &mut Db, webhook_id: i64) -> QueryResult<Option<WebhookRow>> {
    let one = webhooks::table.find(webhook_id);
    match db {
        Db::Pg(conn) => one
            .select(WebhookRow::as_select())
            .for_update()
            .first(conn)
            .optional(),
        Db::Sqlite(conn) => one.select(WebhookRow::as_select()).first(conn).optional(),
    }
}

/// Holds a webhook for `owner`, or with none lets it go; it is looked at again at `due_at`.
pub(super) fn keep(
    db: &mut Db,
    webhook: &WebhookRow,
    owner: Option<&str>,
    due_at: Option<NaiveDateTime>,
) -> QueryResult<()> {
    diesel::update(webhooks::table.find(webhook.webhook_id))
        .set((
            webhooks::lease_owner.eq(owner),
            webhooks::due_at.eq(due_at),
            webhooks::failures.eq(webhook.failures),
            webhooks::failing_since.eq(webhook.failing_since),
            webhooks::free_at.eq(webhook.free_at),
        ))
        .execute(db)
        .map(drop)
}

/// Switches a webhook off.
pub(super) fn switch_off(db: &mut Db, webhook_id: i64, now: NaiveDateTime) -> QueryResult<()> {
    diesel::update(webhooks::table.find(webhook_id))
        .set((
            webhooks::state.eq(OFF),
            webhooks::sealed.eq(None::<String>),
            webhooks::updated_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

/// Puts back what a holder that is gone was making, and says how many those were.
pub(super) fn reopen_abandoned(db: &mut Db, webhook_id: i64) -> QueryResult<usize> {
    diesel::update(open(webhook_id).filter(calls::state.eq(SENDING)))
        .set(calls::state.eq(PENDING))
        .execute(db)
}

/// Open calls whose time is over.
pub(super) fn list_expired(
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
pub(super) fn list_open(
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
pub(super) fn find_next(
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
pub(super) fn next_moments(
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
pub(super) fn start_sending(db: &mut Db, delivery_id: &str) -> QueryResult<()> {
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
pub(super) fn postpone(
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
pub(super) fn settle(
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
pub(super) fn reopen(
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
pub(super) fn exists(db: &mut Db, delivery_id: &str) -> QueryResult<bool> {
    let found = calls::table
        .find(delivery_id)
        .select(calls::delivery_id)
        .first::<String>(db);
    Ok(found.optional()?.is_some())
}

/// How many calls are open.
pub(super) fn count_open(db: &mut Db) -> QueryResult<i64> {
    calls::table
        .filter(calls::settled_at.is_null())
        .count()
        .get_result(db)
}

/// Deletes up to `limit` calls of a webhook that is gone, and says how many.
pub(super) fn delete_calls(db: &mut Db, webhook_id: i64, limit: i64) -> QueryResult<usize> {
    let some = calls::table
        .filter(calls::webhook_id.eq(webhook_id))
        .limit(limit)
        .select(calls::delivery_id);
    let ids: Vec<String> = some.load(db)?;
    diesel::delete(calls::table.filter(calls::delivery_id.eq_any(&ids))).execute(db)
}

/// Deletes up to `limit` calls that tell of a user's doing, and says how many.
pub(super) fn delete_calls_about(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    let some = calls::table
        .filter(calls::user_id.eq(user.get()))
        .limit(limit)
        .select(calls::delivery_id);
    let ids: Vec<String> = some.load(db)?;
    diesel::delete(calls::table.filter(calls::delivery_id.eq_any(&ids))).execute(db)
}

/// Forgets calls that were settled before `until`, at most `most`, and webhooks that were taken away then.
pub(super) fn forget_before(db: &mut Db, until: NaiveDateTime, most: i64) -> QueryResult<()> {
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
