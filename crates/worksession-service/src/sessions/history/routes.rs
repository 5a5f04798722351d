use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Path, Query};

use super::service;
use super::wire::{SessionListQuery, SessionResponse, SessionsResponse};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead};
use crate::error::{Error, ErrorBody};
use crate::sessions::model;

/// Lists the caller's sessions, newest first.
#[utoipa::path(
    get, path = "/api/sessions", operation_id = "listSessions", tag = "sessions", params(SessionListQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "A page of the sessions", body = SessionsResponse),
        (status = 400, description = "A parameter has an invalid value", body = ErrorBody),
    )
)]
pub(crate) async fn list(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<SessionListQuery>, Problem>,
) -> Result<web::Json<SessionsResponse>, Error> {
    let filter = query?.0.try_into()?;
    Ok(web::Json(service::list(&state, caller.id, filter).await?))
}

/// Returns one of the caller's sessions.
#[utoipa::path(
    get, path = "/api/sessions/{id}", operation_id = "getSession", tag = "sessions", params(("id" = String, Path)),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The session", body = SessionResponse),
        (status = 404, description = "Session not found", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    path: Result<Path<(String,)>, Problem>,
) -> Result<web::Json<SessionResponse>, Error> {
    let id = model::parse_path_id(path)?;
    Ok(web::Json(
        service::get(&state, caller.id, &id).await?.into(),
    ))
}
