use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use event_types::{WebhookAttempted, WebhookOutcome};
use uuid::Uuid;

use super::model::{NewWebhookDelivery, PENDING};
use super::wire::Delivery;
use crate::columns::columns;
use crate::integrations::WebhookId;
use crate::schema::webhook_deliveries as log;

/// Inserts a pending delivery.
pub(super) fn insert(
    db: &mut Db,
    delivery_id: Uuid,
    delivery: &NewWebhookDelivery,
    now: NaiveDateTime,
) -> QueryResult<()> {
    let row = (
        log::delivery_id.eq(delivery_id.to_string()),
        log::webhook_id.eq(delivery.webhook.get()),
        log::user_id.eq(delivery.user.get()),
        log::event_id.eq(delivery.event.id.to_string()),
        log::event_type.eq(&delivery.event.event_type),
        log::session_id.eq(delivery.session.map(|session| session.to_string())),
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
pub(super) fn mark_pending(
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
const LAST_STEP: i64 = i64::MAX;

/// Records the report on a delivery, unless a later one was recorded before. A delivery that the notifier no longer
/// has gets the same last report after each replay.
pub(crate) fn record_attempt(db: &mut Db, event: &WebhookAttempted) -> QueryResult<usize> {
    let state = match event.outcome {
        WebhookOutcome::Delivered => "delivered",
        WebhookOutcome::Pending => PENDING,
        WebhookOutcome::Failed => "failed",
        WebhookOutcome::Skipped => "skipped",
    };
    let attempted_at = event.duration_ms.is_some().then(|| event.at.naive_utc());
    let next = event.next_attempt_at.map(|at| at.naive_utc());
    let older = log::table
        .filter(log::delivery_id.eq(event.delivery_id.to_string()))
        .filter(
            log::step
                .lt(event.step)
                .or(log::step.eq(LAST_STEP).and(log::state.eq(PENDING))),
        );
    let outcome = (
        log::state.eq(state),
        log::step.eq(event.step),
        log::attempts.eq(event.attempts),
        log::reason.eq(&event.reason),
        log::next_attempt_at.eq(next),
    );
    match attempted_at {
        // A report without an attempt keeps the result of the last attempt.
        None => diesel::update(older).set(outcome).execute(db),
        Some(at) => {
            let response = (
                log::status_code.eq(event.status_code.map(i32::from)),
                log::duration_ms.eq(event.duration_ms),
                log::last_attempt_at.eq(at),
            );
            diesel::update(older).set((outcome, response)).execute(db)
        }
    }
}

/// Deletes up to `limit` deliveries of a webhook.
pub(in crate::webhooks) fn delete_for_webhook(
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
pub(in crate::webhooks) fn has_any_before(db: &mut Db, until: NaiveDateTime) -> QueryResult<bool> {
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
