use std::sync::Arc;

use chrono::{DateTime, Utc};
use db_kit::Db;
use db_kit::outbox::{self, uuid_v7};
use event_types::{Event, WebhookDue, WebhookReplayed, WebhookTest};
use service_kit::Problem;
use service_kit::http::{Query, RequestId};
use uuid::Uuid;

use super::model::NewWebhookDelivery;
use super::queries;
use super::wire::{DeliveriesResponse, Delivery, DeliveryListQuery, DeliveryResponse};
use crate::app_state::AppState;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::integrations::WebhookId;
use crate::pagination::{page_size, truncate_page};
use crate::webhooks::model::WebhookRow;
use crate::webhooks::queries as webhooks;
use crate::webhooks::service::authorize;

/// Inserts a delivery and requests it from the notifier, both in the caller's transaction.
pub(in crate::webhooks) fn enqueue(
    db: &mut Db,
    delivery: NewWebhookDelivery,
    now: DateTime<Utc>,
) -> diesel::QueryResult<Uuid> {
    let delivery_id = uuid_v7(now);
    queries::insert(db, delivery_id, &delivery, now.naive_utc())?;
    let request_id = delivery.event.requestid.clone();
    let due = WebhookDue {
        webhook_id: delivery.webhook.get(),
        revision: delivery.revision,
        delivery_id,
        user_id: delivery.user,
        event: delivery.event,
    };
    outbox::enqueue(db, events::SOURCE, now, request_id, &due)?;
    Ok(delivery_id)
}

pub(super) async fn list(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    query: Result<Query<DeliveryListQuery>, Problem>,
) -> Result<DeliveriesResponse, Error> {
    let list = move |db: &mut Db| {
        // Authorization comes before the query.
        authorize(webhooks::find(db, id)?, &caller)?;
        let query = query?.0;
        let limit = page_size(query.limit)?;
        let before = query.cursor.map(|cursor| {
            let id = cursor.parse::<Uuid>();
            id.map_err(|_| Error::invalid("cursor is not valid"))
        });
        let before = before.transpose()?.map(|id| id.to_string());
        // One more row shows whether there is a next page.
        let rows = queries::list(db, id, before.as_deref(), limit + 1)?;
        Ok::<_, Error>((rows, limit))
    };
    let (mut rows, limit) = state.pool.read(list).await?;
    let has_more = truncate_page(&mut rows, limit);
    let last = rows.last().map(|row| row.id.clone());
    Ok(DeliveriesResponse {
        success: true,
        next_cursor: last.filter(|_| has_more),
        deliveries: rows,
    })
}

pub(super) async fn replay(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    delivery: Uuid,
    request_id: RequestId,
) -> Result<DeliveryResponse, Error> {
    state.limit_requested_calls(caller.id)?;
    let now = state.clock.now();
    let change = move |db: &mut Db| {
        check_active(authorize(webhooks::find(db, id)?, &caller)?)?;
        let name = delivery.to_string();
        let Some(row) = queries::mark_pending(db, id, &name)? else {
            return Err(match queries::find(db, id, &name)? {
                Some(_) => Error::DeliveryUnderWay,
                None => Error::DeliveryNotFound,
            });
        };
        let event = WebhookReplayed {
            webhook_id: id.get(),
            delivery_id: delivery,
        };
        events::enqueue(db, now, Some(&request_id), &event)?;
        Ok(row)
    };
    commit(state, change).await
}

pub(super) async fn test(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<DeliveryResponse, Error> {
    state.limit_requested_calls(caller.id)?;
    let now = state.clock.now();
    let change = move |db: &mut Db| {
        let webhook = check_active(authorize(webhooks::find(db, id)?, &caller)?)?;
        let data = WebhookTest {
            webhook_id: id.get(),
            requested_by: caller.username.clone(),
        };
        let request_id = Some(request_id.to_string());
        let event = Event::new(uuid_v7(now), events::SOURCE, now, request_id, &data);
        let delivery = NewWebhookDelivery {
            webhook: id,
            revision: webhook.revision,
            user: caller.id,
            session: None,
            event: event.map_err(Error::internal)?,
        };
        let delivery = enqueue(db, delivery, now)?;
        queries::find(db, id, &delivery.to_string())?.ok_or(Error::DeliveryNotFound)
    };
    commit(state, change).await
}

async fn commit(
    state: &AppState,
    change: impl FnOnce(&mut Db) -> Result<Delivery, Error> + Send + 'static,
) -> Result<DeliveryResponse, Error> {
    let delivery = state.pool.write_tx(change).await?;
    state.relay.wake();
    Ok(DeliveryResponse {
        success: true,
        delivery,
    })
}

fn check_active(webhook: WebhookRow) -> Result<WebhookRow, Error> {
    let active = Some(webhook).filter(WebhookRow::is_active);
    active.ok_or(Error::WebhookDisabled)
}
