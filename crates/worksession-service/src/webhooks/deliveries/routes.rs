use actix_web::{HttpResponse, web};
use service_kit::Problem;
use service_kit::http::{Path, Query, RequestId, endpoint};
use uuid::Uuid;

use super::service;
use super::wire::{DeliveriesResponse, DeliveryListQuery, DeliveryResponse};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead, WebhooksWrite};
use crate::error::{Error, ErrorBody};
use crate::integrations::WebhookId;
use crate::webhooks::wire::parse_id;

pub(in crate::webhooks) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(endpoint("/api/webhooks/{id}/deliveries").get(list))
        .service(endpoint("/api/webhooks/{id}/deliveries/{delivery_id}/replay").post(replay))
        .service(endpoint("/api/webhooks/{id}/test").post(test));
}

/// Lists a webhook's deliveries of the last 30 days.
#[utoipa::path(
    get, path = "/api/webhooks/{id}/deliveries", operation_id = "listWebhookDeliveries", tag = "webhooks",
    params(("id" = WebhookId, Path), DeliveryListQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "A page of the deliveries, newest first", body = DeliveriesResponse),
        (status = 400, description = "A parameter has an invalid value", body = ErrorBody),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
    )
)]
pub(crate) async fn list(
    state: State,
    caller: Caller<SessionsRead>,
    Path((id,)): Path<(String,)>,
    query: Result<Query<DeliveryListQuery>, Problem>,
) -> Result<web::Json<DeliveriesResponse>, Error> {
    let page = service::list(&state, caller.into(), parse_id(&id)?, query).await?;
    Ok(web::Json(page))
}

/// Sends a settled delivery again: the same id and body, a new timestamp and signature.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/deliveries/{delivery_id}/replay", operation_id = "replayWebhookDelivery", tag = "webhooks",
    params(("id" = WebhookId, Path), ("delivery_id" = Uuid, Path)),
    security(("bearer" = ["integrations:write", "sessions:read"])),
    responses(
        (status = 202, description = "The delivery was queued again.", body = DeliveryResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found, or Delivery not found", body = ErrorBody),
        (status = 409, description = "Delivery is still under way, or Webhook is not active", body = ErrorBody),
        (status = 429, description = "Too many requests", body = ErrorBody),
    )
)]
pub(crate) async fn replay(
    state: State,
    request_id: RequestId,
    caller: Caller<WebhooksWrite>,
    Path((id, delivery)): Path<(String, String)>,
) -> Result<HttpResponse, Error> {
    let id = parse_id(&id)?;
    let delivery: Uuid = delivery.parse().map_err(|_| Error::DeliveryNotFound)?;
    let pending = service::replay(&state, caller.into(), id, delivery, request_id).await?;
    Ok(HttpResponse::Accepted().json(pending))
}

/// Sends an event `webhook.test.v1` to the webhook.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/test", operation_id = "testWebhook", tag = "webhooks", params(("id" = WebhookId, Path)),
    security(("bearer" = ["integrations:write", "sessions:read"])),
    responses(
        (status = 202, description = "The test event was queued.", body = DeliveryResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
        (status = 409, description = "Webhook is not active", body = ErrorBody),
        (status = 429, description = "Too many requests", body = ErrorBody),
    )
)]
pub(crate) async fn test(
    state: State,
    request_id: RequestId,
    caller: Caller<WebhooksWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<HttpResponse, Error> {
    let pending = service::test(&state, caller.into(), parse_id(&id)?, request_id).await?;
    Ok(HttpResponse::Accepted().json(pending))
}
