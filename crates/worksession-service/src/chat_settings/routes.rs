use actix_web::{HttpResponse, web};
use service_kit::http::{Json, Path, RequestId, endpoint};

use super::service;
use super::wire::{ChatResponse, PutChatRequest};
use crate::app_state::State;
use crate::auth::{AdoptIntegrations, Caller, ChatsWrite, IntegrationsWrite, SessionsRead};
use crate::error::{Error, ErrorBody};
use crate::projects::TeamProjectId;
use crate::team_projects::parse_id;

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(
            endpoint("/api/team-projects/{id}/chat")
                .get(get)
                .put(put)
                .delete(delete),
        )
        .service(endpoint("/api/team-projects/{id}/chat/test").post(test))
        .service(endpoint("/api/team-projects/{id}/chat/adopt").post(adopt));
}

/// Returns the state of a team project's chat; for members of the team.
#[utoipa::path(
    get, path = "/api/team-projects/{id}/chat", operation_id = "getChat", tag = "chat", params(("id" = TeamProjectId, Path)),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The state of the chat, without its address", body = ChatResponse),
        (status = 403, description = "Not authorized to access this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<ChatResponse>, Error> {
    Ok(web::Json(
        service::get(&state, caller.into(), parse_id(&id)?).await?,
    ))
}

/// Configures the chat of a team project; for owners and admins of the team.
#[utoipa::path(
    put, path = "/api/team-projects/{id}/chat", operation_id = "setChat", tag = "chat", params(("id" = TeamProjectId, Path)),
    request_body = PutChatRequest, security(("bearer" = ["integrations:write", "sessions:read", "teams"])),
    responses(
        (status = 200, description = "The state of the chat, without its address", body = ChatResponse),
        (status = 403, description = "Not authorized to change this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn put(
    state: State,
    request_id: RequestId,
    caller: Caller<ChatsWrite>,
    Path((id,)): Path<(String,)>,
    request: Json<PutChatRequest>,
) -> Result<web::Json<ChatResponse>, Error> {
    Ok(web::Json(
        service::put(&state, caller.into(), parse_id(&id)?, request, request_id).await?,
    ))
}

/// Removes the chat of a team project; for owners and admins of the team.
#[utoipa::path(
    delete, path = "/api/team-projects/{id}/chat", operation_id = "removeChat", tag = "chat", params(("id" = TeamProjectId, Path)),
    security(("bearer" = ["integrations:write"])),
    responses(
        (status = 204, description = "The chat was removed."),
        (status = 403, description = "Not authorized to change this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn delete(
    state: State,
    request_id: RequestId,
    caller: Caller<IntegrationsWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<HttpResponse, Error> {
    service::delete(&state, caller.into(), parse_id(&id)?, request_id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Requests a test message to the chat of a team project; for owners and admins of the team.
#[utoipa::path(
    post, path = "/api/team-projects/{id}/chat/test", operation_id = "testChat", tag = "chat", params(("id" = TeamProjectId, Path)),
    security(("bearer" = ["integrations:write"])),
    responses(
        (status = 202, description = "The test message was queued. `last_test` shows its result.", body = ChatResponse),
        (status = 403, description = "Not authorized to change this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
        (status = 409, description = "No chat is configured", body = ErrorBody),
        (status = 429, description = "Too many requests", body = ErrorBody),
    )
)]
pub(crate) async fn test(
    state: State,
    request_id: RequestId,
    caller: Caller<IntegrationsWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<HttpResponse, Error> {
    let pending = service::test(&state, caller.into(), parse_id(&id)?, request_id).await?;
    Ok(HttpResponse::Accepted().json(pending))
}

/// Adopts a paused chat: it becomes the caller's and receives notifications again. A chat that is not paused stays as it is.
#[utoipa::path(
    post, path = "/api/team-projects/{id}/chat/adopt", operation_id = "adoptChat", tag = "chat", params(("id" = TeamProjectId, Path)),
    security(("bearer" = ["account", "integrations:write"])),
    responses(
        (status = 200, description = "The state of the chat, without its address", body = ChatResponse),
        (status = 403, description = "Not authorized to change this team project, or Insufficient scope", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn adopt(
    state: State,
    request_id: RequestId,
    caller: Caller<AdoptIntegrations>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<ChatResponse>, Error> {
    Ok(web::Json(
        service::adopt(&state, caller.into(), parse_id(&id)?, request_id).await?,
    ))
}
