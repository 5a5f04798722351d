use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::dsl::{min, sql};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Timestamp};
use diesel::upsert::excluded;
use event_types::WebhookConfigured;

use crate::schema::webhooks;
use crate::webhooks::model::{ACTIVE, OFF, REMOVED, UNKNOWN, WebhookRow};

/// Has a webhook looked at as soon as it may be called, at `give_up_at` at the latest, and makes its row if
/// nothing is known of it yet. While somebody holds the webhook, the holder looks again before letting go.
pub(in crate::webhooks) fn expect(
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

/// Keeps what is told of a webhook if its revision is higher than the known one, or pauses the known one.
pub(in crate::webhooks) fn configure(
    db: &mut Db,
    configured: &WebhookConfigured,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let state = match &configured.sealed {
        Some(_) => ACTIVE,
        None if configured.paused => OFF,
        None => REMOVED,
    };
    let row = (
        webhooks::webhook_id.eq(configured.webhook_id),
        webhooks::revision.eq(configured.revision),
        webhooks::state.eq(state),
        webhooks::sealed.eq(configured.sealed.as_deref()),
        webhooks::failures.eq(0),
        webhooks::free_at.eq(now),
        webhooks::due_at.eq(Some(now)),
        webhooks::updated_at.eq(now),
    );
    let soon = sql::<Nullable<Timestamp>>(
        "CASE WHEN webhooks.lease_owner IS NULL THEN excluded.due_at ELSE webhooks.due_at END",
    );
    let newer = webhooks::revision
        .lt(excluded(webhooks::revision))
        .or(webhooks::revision
            .eq(excluded(webhooks::revision))
            .and(excluded(webhooks::state).eq(OFF)));
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
pub(in crate::webhooks) fn next_due(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    webhooks::table
        .filter(webhooks::due_at.is_not_null())
        .select(min(webhooks::due_at))
        .first(db)
}

/// Webhooks that are to be looked at and that nobody holds, or whose holder is gone. Locked until the
/// transaction ends; those that another process is taking now are left to it.
pub(in crate::webhooks) fn list_due(
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
pub(in crate::webhooks) fn lock(db: &mut Db, webhook_id: i64) -> QueryResult<Option<WebhookRow>> {
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
pub(in crate::webhooks) fn keep(
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
pub(in crate::webhooks) fn switch_off(
    db: &mut Db,
    webhook_id: i64,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(webhooks::table.find(webhook_id))
        .set((
            webhooks::state.eq(OFF),
            webhooks::sealed.eq(None::<String>),
            webhooks::updated_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}
