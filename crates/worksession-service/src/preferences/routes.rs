use actix_web::web;
use service_kit::http::{Json, endpoint};

use super::service;
use super::wire::{PreferencesResponse, PutPreferencesRequest};
use crate::app_state::State;
use crate::auth::{Caller, SessionsWrite};
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/user/preferences").put(put));
}

/// Changes the caller's preferences.
#[utoipa::path(
    put, path = "/api/user/preferences", operation_id = "updatePreferences", tag = "user", request_body = PutPreferencesRequest,
    security(("bearer" = ["sessions:write"])),
    responses(
        (status = 200, description = "The updated preferences", body = PreferencesResponse),
        (status = 409, description = "The time zone can be changed once a day; see Retry-After", body = ErrorBody),
    )
)]
pub(crate) async fn put(
    state: State,
    caller: Caller<SessionsWrite>,
    request: Json<PutPreferencesRequest>,
) -> Result<web::Json<PreferencesResponse>, Error> {
    let row = service::update(&state, caller.id, request.into_inner()?).await?;
    Ok(web::Json(PreferencesResponse {
        success: true,
        current: row.into(),
    }))
}
