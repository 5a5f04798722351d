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
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::hooks::WebhookId;
use crate::page::{cut, page_size};
use crate::state::AppState;
use crate::webhooks::model::WebhookRow;
use crate::webhooks::queries as webhooks;
use crate::webhooks::service::managed;

/// Inserts a delivery and requests it from the notifier, both in the caller's transaction.
pub(in crate::webhooks) fn ask(
    db: &mut Db,
    call: NewWebhookDelivery,
    now: DateTime<Utc>,
) -> diesel::QueryResult<Uuid> {
    let delivery_id = uuid_v7(now);
    queries::insert(db, delivery_id, &call, now.naive_utc())?;
    let request_id = call.event.requestid.clone();
    let due = WebhookDue {
        webhook_id: call.webhook.get(),
        revision: call.revision,
        delivery_id,
        user_id: call.user,
        event: call.event,
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
    let look = move |db: &mut Db| {
        // Authorization comes before the query.
        managed(webhooks::find(db, id)?, &caller)?;
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
    let (mut rows, limit) = state.pool.read(look).await?;
    let more = cut(&mut rows, limit);
    let last = rows.last().map(|row| row.id.clone());
    Ok(DeliveriesResponse {
        success: true,
        next_cursor: last.filter(|_| more),
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
    state.limit_calls_by_hand(caller.id)?;
    let now = state.clock.now();
    let change = move |db: &mut Db| {
        in_use(managed(webhooks::find(db, id)?, &caller)?)?;
        let name = delivery.to_string();
        let Some(row) = queries::reopen(db, id, &name)? else {
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
    wait_for(state, change).await
}

pub(super) async fn test(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<DeliveryResponse, Error> {
    state.limit_calls_by_hand(caller.id)?;
    let now = state.clock.now();
    let change = move |db: &mut Db| {
        let webhook = in_use(managed(webhooks::find(db, id)?, &caller)?)?;
        let data = WebhookTest {
            webhook_id: id.get(),
            requested_by: caller.username.clone(),
        };
        let request_id = Some(request_id.to_string());
        let event = Event::new(uuid_v7(now), events::SOURCE, now, request_id, &data);
        let call = NewWebhookDelivery {
            webhook: id,
            revision: webhook.revision,
            user: caller.id,
            session: None,
            event: event.map_err(Error::internal)?,
        };
        let delivery = ask(db, call, now)?;
        queries::find(db, id, &delivery.to_string())?.ok_or(Error::DeliveryNotFound)
    };
    wait_for(state, change).await
}

async fn wait_for(
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

fn in_use(webhook: WebhookRow) -> Result<WebhookRow, Error> {
    if webhook.is_active() {
        Ok(webhook)
    } else {
        Err(Error::WebhookOff)
    }
}
