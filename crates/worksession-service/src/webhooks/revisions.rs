//! The revisions of a webhook, and the events that send them to the notifier.

use chrono::{DateTime, Utc};
use db_kit::Db;
use diesel::QueryResult;
use event_types::{MailTemplate, WebhookDisabled};
use service_kit::http::RequestId;

use super::model::{WebhookOwner, WebhookRow};
use super::{deliveries, queries};
use crate::error::Error;
use crate::hooks::{Integration, PAUSED, RevisionTarget, WebhookId, contacts};
use crate::state::AppState;

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
        None => RevisionTarget::Gone,
    };
    Integration::Webhook(row.id).publish(db, row.revision, target, now, request_id)
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
    contacts::forget(db, integration)?;
    integration.publish(db, revision, RevisionTarget::Gone, now, request_id)
}

/// Disables a webhook whose receiver is gone, unless it has changed since, and mails its creator.
pub(crate) fn switch_off(
    db: &mut Db,
    state: &AppState,
    off: WebhookDisabled,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let Some(id) = WebhookId::new(off.webhook_id) else {
        return Ok(());
    };
    let switched = queries::switch_off(db, id, off.revision, &off.reason, now.naive_utc())?;
    let Some((description, origin)) = switched else {
        return Ok(());
    };
    contacts::tell(
        db,
        &state.sealers,
        Integration::Webhook(id),
        now,
        |username| MailTemplate::WebhookSwitchedOff {
            username,
            webhook_id: off.webhook_id,
            description,
            origin,
            reason: off.reason,
            at: now,
            link: state.page("/docs/"),
        },
    )
}

/// Deletes up to `limit` rows of an owner's webhooks and their logs, and returns how many.
pub(crate) fn take_away(
    db: &mut Db,
    owner: WebhookOwner,
    now: DateTime<Utc>,
    limit: i64,
) -> QueryResult<usize> {
    let mut taken = 0;
    for row in queries::of_owner(db, owner, limit)? {
        if row.sealed.is_some() {
            mark_deleted(db, &row, now, None)?;
        }
        let room = limit - i64::try_from(taken).unwrap_or(i64::MAX);
        if room <= 0 {
            break;
        }
        taken += clear(db, row.id, room)?;
    }
    Ok(taken)
}

/// Deletes up to `limit` rows of a deleted webhook's log, and with the last of them the webhook.
pub(super) fn clear(db: &mut Db, id: WebhookId, limit: i64) -> QueryResult<usize> {
    let cleared = deliveries::queries::delete_of(db, id, limit)?;
    if i64::try_from(cleared).is_ok_and(|cleared| cleared < limit) {
        return Ok(cleared + queries::delete(db, id)?);
    }
    Ok(cleared)
}
