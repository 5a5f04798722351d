use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Json, Path};

use super::service;
use super::wire::EditRequest;
use crate::app_state::State;
use crate::auth::{Caller, SessionsWrite};
use crate::error::{Error, ErrorBody};
use crate::sessions::history::SessionResponse;
use crate::sessions::model;

/// Changes the execution note, the rating or the tags of a submitted session.
#[utoipa::path(
    patch, path = "/api/sessions/{id}", operation_id = "editSession", tag = "sessions", params(("id" = String, Path)),
    request_body = EditRequest, security(("bearer" = ["sessions:write"])),
    responses(
        (status = 200, description = "The updated session", body = SessionResponse),
        (status = 404, description = "Session not found", body = ErrorBody),
        (status = 409, description = "Session is not submitted yet", body = ErrorBody),
        (status = 422, description = "Locked fields differ from the plan", body = ErrorBody),
    )
)]
pub(crate) async fn edit(
    state: State,
    caller: Caller<SessionsWrite>,
    path: Result<Path<(String,)>, Problem>,
    body: Json<EditRequest>,
) -> Result<web::Json<SessionResponse>, Error> {
    let id = model::parse_path_id(path)?;
    let edit = body.into_inner()?.try_into()?;
    let row = service::edit(&state, caller.id, &id, edit).await?;
    Ok(web::Json(row.into()))
}
