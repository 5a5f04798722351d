use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use event_types::{WebhookAttempted, WebhookOutcome};
use uuid::Uuid;

use super::model::{NewWebhookDelivery, PENDING};
use super::wire::Delivery;
use crate::columns::columns;
use crate::hooks::WebhookId;
use crate::schema::webhook_deliveries as log;

/// Inserts a pending delivery.
pub(super) fn insert(
    db: &mut Db,
    delivery_id: Uuid,
    call: &NewWebhookDelivery,
    now: NaiveDateTime,
) -> QueryResult<()> {
    let row = (
        log::delivery_id.eq(delivery_id.to_string()),
        log::webhook_id.eq(call.webhook.get()),
        log::user_id.eq(call.user.get()),
        log::event_id.eq(call.event.id.to_string()),
        log::event_type.eq(&call.event.event_type),
        log::session_id.eq(call.session.map(|session| session.to_string())),
        log::state.eq(PENDING),
        log::step.eq(0),
        log::attempts.eq(0),
        log::created_at.eq(now),
    );
    diesel::insert_into(log::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// Returns up to `limit` deliveries of a webhook, newest first, older than `before` if it is given.
pub(super) fn list(
    db: &mut Db,
    webhook: WebhookId,
    before: Option<&str>,
    limit: i32,
) -> QueryResult<Vec<Delivery>> {
    let page = log::table
        .filter(log::webhook_id.eq(webhook.get()))
        .order(log::delivery_id.desc())
        .limit(limit.into())
        .select(columns::<Delivery>());
    match before {
        Some(before) => page.filter(log::delivery_id.lt(before)).load(db),
        None => page.load(db),
    }
}

/// Finds one delivery of a webhook.
pub(super) fn find(
    db: &mut Db,
    webhook: WebhookId,
    delivery: &str,
) -> QueryResult<Option<Delivery>> {
    log::table
        .filter(log::webhook_id.eq(webhook.get()))
        .filter(log::delivery_id.eq(delivery))
        .select(columns::<Delivery>())
        .first(db)
        .optional()
}

/// Makes a settled delivery pending again. Returns none when it is already pending or does not exist.
pub(super) fn reopen(
    db: &mut Db,
    webhook: WebhookId,
    delivery: &str,
) -> QueryResult<Option<Delivery>> {
    let settled = log::table
        .filter(log::webhook_id.eq(webhook.get()))
        .filter(log::delivery_id.eq(delivery))
        .filter(log::state.ne(PENDING));
    diesel::update(settled)
        .set((log::state.eq(PENDING), log::reason.eq(None::<String>)))
        .returning(columns::<Delivery>())
        .get_result(db)
        .optional()
}

/// The step of the notifier's report on a delivery that it no longer has. No report comes after it.
const FORGOTTEN: i64 = i64::MAX;

/// Records the report on a delivery, unless a later one was recorded before. A delivery that the notifier no longer
/// has gets the same last report after each replay.
pub(crate) fn note(db: &mut Db, word: &WebhookAttempted) -> QueryResult<usize> {
    let state = match word.outcome {
        WebhookOutcome::Delivered => "delivered",
        WebhookOutcome::Pending => PENDING,
        WebhookOutcome::Failed => "failed",
        WebhookOutcome::Skipped => "skipped",
    };
    let tried = word.duration_ms.is_some().then(|| word.at.naive_utc());
    let next = word.next_attempt_at.map(|at| at.naive_utc());
    let older = log::table
        .filter(log::delivery_id.eq(word.delivery_id.to_string()))
        .filter(
            log::step
                .lt(word.step)
                .or(log::step.eq(FORGOTTEN).and(log::state.eq(PENDING))),
        );
    let outcome = (
        log::state.eq(state),
        log::step.eq(word.step),
        log::attempts.eq(word.attempts),
        log::reason.eq(&word.reason),
        log::next_attempt_at.eq(next),
    );
    match tried {
        // A report without an attempt keeps the result of the last attempt.
        None => diesel::update(older).set(outcome).execute(db),
        Some(at) => {
            let answer = (
                log::status_code.eq(word.status_code.map(i32::from)),
                log::duration_ms.eq(word.duration_ms),
                log::last_attempt_at.eq(at),
            );
            diesel::update(older).set((outcome, answer)).execute(db)
        }
    }
}

/// Deletes up to `limit` deliveries of a webhook.
pub(in crate::webhooks) fn delete_of(
    db: &mut Db,
    webhook: WebhookId,
    limit: i64,
) -> QueryResult<usize> {
    let ids: Vec<String> = log::table
        .filter(log::webhook_id.eq(webhook.get()))
        .limit(limit)
        .select(log::delivery_id)
        .load(db)?;
    diesel::delete(log::table.filter(log::delivery_id.eq_any(&ids))).execute(db)
}

/// Whether there are deliveries from before `until`.
pub(in crate::webhooks) fn any_before(db: &mut Db, until: NaiveDateTime) -> QueryResult<bool> {
    let first: Option<String> = log::table
        .filter(log::created_at.lt(until))
        .order(log::created_at)
        .select(log::delivery_id)
        .first(db)
        .optional()?;
    Ok(first.is_some())
}

/// Deletes up to `limit` deliveries from before `until`.
pub(in crate::webhooks) fn delete_before(
    db: &mut Db,
    until: NaiveDateTime,
    limit: i64,
) -> QueryResult<usize> {
    let ids: Vec<String> = log::table
        .filter(log::created_at.lt(until))
        .order(log::created_at)
        .limit(limit)
        .select(log::delivery_id)
        .load(db)?;
    diesel::delete(log::table.filter(log::delivery_id.eq_any(&ids))).execute(db)
}
