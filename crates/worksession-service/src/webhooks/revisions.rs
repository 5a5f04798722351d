//! The revisions of a webhook, and the events that send them to the notifier.

use chrono::{DateTime, Utc};
use db_kit::Db;
use diesel::QueryResult;
use event_types::{MailTemplate, WebhookDisabled};
use service_kit::http::RequestId;

use super::model::{WebhookOwner, WebhookRow};
use super::{deliveries, queries};
use crate::app_state::AppState;
use crate::error::Error;
use crate::integrations::{Integration, PAUSED, RevisionTarget, WebhookId, contacts};

/// Stores a webhook's new revision, and sends it to the notifier.
pub(super) fn store(
    db: &mut Db,
    row: &WebhookRow,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> QueryResult<()> {
    queries::update(db, row)?;
    let target = match &row.sealed {
        _ if row.status == PAUSED => RevisionTarget::Paused,
        Some(sealed) => RevisionTarget::Sealed(sealed.clone()),
        None => RevisionTarget::Removed,
    };
    Integration::Webhook(row.id).enqueue_revision(db, row.revision, target, now, request_id)
}

/// Marks a webhook as deleted, and reports that to the notifier.
pub(super) fn mark_deleted(
    db: &mut Db,
    row: &WebhookRow,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> QueryResult<()> {
    let (integration, revision) = (Integration::Webhook(row.id), row.revision + 1);
    queries::mark_deleted(db, row.id, revision, now.naive_utc())?;
    contacts::delete(db, integration)?;
    integration.enqueue_revision(db, revision, RevisionTarget::Removed, now, request_id)
}

/// Disables a webhook whose receiver is gone, unless it has changed since, and mails its creator.
pub(crate) fn disable(
    db: &mut Db,
    state: &AppState,
    event: WebhookDisabled,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let Some(id) = WebhookId::new(event.webhook_id) else {
        return Ok(());
    };
    let disabled = queries::disable(db, id, event.revision, &event.reason, now.naive_utc())?;
    let Some((description, origin)) = disabled else {
        return Ok(());
    };
    contacts::enqueue_creator_mail(
        db,
        &state.sealers,
        Integration::Webhook(id),
        now,
        |username| MailTemplate::WebhookSwitchedOff {
            username,
            webhook_id: event.webhook_id,
            description,
            origin,
            reason: event.reason,
            at: now,
            link: state.page("/docs/"),
        },
    )
}

/// Deletes up to `limit` rows of an owner's webhooks and their logs, and returns how many.
pub(crate) fn delete_for_owner(
    db: &mut Db,
    owner: WebhookOwner,
    now: DateTime<Utc>,
    limit: i64,
) -> QueryResult<usize> {
    let mut deleted = 0;
    for row in queries::list_by_owner(db, owner, limit)? {
        if row.sealed.is_some() {
            mark_deleted(db, &row, now, None)?;
        }
        let remaining = limit - i64::try_from(deleted).unwrap_or(i64::MAX);
        if remaining <= 0 {
            break;
        }
        deleted += delete_rows(db, row.id, remaining)?;
    }
    Ok(deleted)
}

/// Deletes up to `limit` rows of a deleted webhook's log, and with the last of them the webhook.
pub(super) fn delete_rows(db: &mut Db, id: WebhookId, limit: i64) -> QueryResult<usize> {
    let deleted = deliveries::queries::delete_for_webhook(db, id, limit)?;
    if i64::try_from(deleted).is_ok_and(|deleted| deleted < limit) {
        return Ok(deleted + queries::delete(db, id)?);
    }
    Ok(deleted)
}
