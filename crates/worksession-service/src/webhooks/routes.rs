use actix_web::{HttpResponse, web};
use service_kit::http::{Json, Path, RequestId, endpoint};

use super::wire::{
    CreateWebhookRequest, UpdateWebhookRequest, WebhookResponse, WebhookSecretResponse,
    WebhooksResponse, parse_id,
};
use super::{deliveries, service};
use crate::app_state::State;
use crate::auth::{AdoptIntegrations, Caller, SessionsRead, WebhooksWrite};
use crate::error::{Error, ErrorBody};
use crate::integrations::WebhookId;

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(endpoint("/api/webhooks").get(list).post(create))
        .service(
            endpoint("/api/webhooks/{id}")
                .get(get)
                .put(update)
                .delete(delete),
        )
        .service(endpoint("/api/webhooks/{id}/rotate-secret").post(rotate_secret))
        .service(endpoint("/api/webhooks/{id}/adopt").post(adopt))
        .configure(deliveries::configure);
}

/// Lists the caller's webhooks and, with the scope `teams`, those of the teams that the caller owns or administers.
#[utoipa::path(
    get, path = "/api/webhooks", operation_id = "listWebhooks", tag = "webhooks", security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The webhooks: first the caller's own, then those of teams, each group oldest first", body = WebhooksResponse),
    )
)]
pub(crate) async fn list(
    state: State,
    caller: Caller<SessionsRead>,
) -> Result<web::Json<WebhooksResponse>, Error> {
    Ok(web::Json(service::list(&state, &caller).await?))
}

/// Creates a webhook of the caller or, with `team_id` and the scope `teams`, of a team that the caller owns or
/// administers.
#[utoipa::path(
    post, path = "/api/webhooks", operation_id = "createWebhook", tag = "webhooks", request_body = CreateWebhookRequest,
    security(("bearer" = ["integrations:write", "sessions:read"])),
    responses(
        (status = 201, description = "The webhook was created. The secret is shown only in this response.", body = WebhookSecretResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Team not found", body = ErrorBody),
        (status = 409, description = "There are 20 webhooks already", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    state: State,
    request_id: RequestId,
    caller: Caller<WebhooksWrite>,
    request: Json<CreateWebhookRequest>,
) -> Result<HttpResponse, Error> {
    let created = service::create(&state, caller.into(), request.into_inner()?, request_id).await?;
    Ok(HttpResponse::Created().json(created))
}

/// Returns a webhook to those who manage it.
#[utoipa::path(
    get, path = "/api/webhooks/{id}", operation_id = "getWebhook", tag = "webhooks", params(("id" = WebhookId, Path)),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The webhook, without its address and secret", body = WebhookResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<WebhookResponse>, Error> {
    let webhook = service::get(&state, caller.into(), parse_id(&id)?).await?;
    Ok(web::Json(webhook))
}

/// Changes a webhook, and activates a disabled one.
#[utoipa::path(
    put, path = "/api/webhooks/{id}", operation_id = "updateWebhook", tag = "webhooks", params(("id" = WebhookId, Path)),
    request_body = UpdateWebhookRequest, security(("bearer" = ["integrations:write", "sessions:read"])),
    responses(
        (status = 200, description = "The updated webhook", body = WebhookResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
    )
)]
pub(crate) async fn update(
    state: State,
    request_id: RequestId,
    caller: Caller<WebhooksWrite>,
    Path((id,)): Path<(String,)>,
    request: Json<UpdateWebhookRequest>,
) -> Result<web::Json<WebhookResponse>, Error> {
    let id = parse_id(&id)?;
    let webhook = service::update(&state, caller.into(), id, request, request_id).await?;
    Ok(web::Json(webhook))
}

/// Deletes a webhook and the log of its deliveries.
#[utoipa::path(
    delete, path = "/api/webhooks/{id}", operation_id = "deleteWebhook", tag = "webhooks", params(("id" = WebhookId, Path)),
    security(("bearer" = ["integrations:write", "sessions:read"])),
    responses(
        (status = 204, description = "The webhook was deleted."),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
    )
)]
pub(crate) async fn delete(
    state: State,
    request_id: RequestId,
    caller: Caller<WebhooksWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<HttpResponse, Error> {
    service::delete(&state, caller.into(), parse_id(&id)?, request_id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Creates a new secret; the previous one signs for 24 more hours.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/rotate-secret", operation_id = "rotateWebhookSecret", tag = "webhooks", params(("id" = WebhookId, Path)),
    security(("bearer" = ["integrations:write", "sessions:read"])),
    responses(
        (status = 200, description = "The webhook with its new secret, which is shown only in this response", body = WebhookSecretResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
    )
)]
pub(crate) async fn rotate_secret(
    state: State,
    request_id: RequestId,
    caller: Caller<WebhooksWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<WebhookSecretResponse>, Error> {
    let rotated = service::rotate_secret(&state, caller.into(), parse_id(&id)?, request_id).await?;
    Ok(web::Json(rotated))
}

/// Activates a webhook that was paused because its creator lost access, with the caller as its creator. Any other stays as it is.
#[utoipa::path(
    post, path = "/api/webhooks/{id}/adopt", operation_id = "adoptWebhook", tag = "webhooks", params(("id" = WebhookId, Path)),
    security(("bearer" = ["account", "integrations:write"])),
    responses(
        (status = 200, description = "The updated webhook", body = WebhookResponse),
        (status = 403, description = "Not authorized to manage this team's webhooks, or Insufficient scope", body = ErrorBody),
        (status = 404, description = "Webhook not found", body = ErrorBody),
    )
)]
pub(crate) async fn adopt(
    state: State,
    request_id: RequestId,
    caller: Caller<AdoptIntegrations>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<WebhookResponse>, Error> {
    let webhook = service::adopt(&state, caller.into(), parse_id(&id)?, request_id).await?;
    Ok(web::Json(webhook))
}
