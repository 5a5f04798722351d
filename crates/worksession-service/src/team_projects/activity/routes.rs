use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Path, Query};

use super::service;
use super::wire::{ActivityQuery, ActivityResponse};
use crate::app_state::State;
use crate::auth::{Caller, TeamActivity};
use crate::error::{Error, ErrorBody};
use crate::projects::TeamProjectId;
use crate::team_projects::parse_id;

/// Lists the newest sessions of all members on a team project; for members of its team.
#[utoipa::path(
    get, path = "/api/team-projects/{id}/activity", operation_id = "listTeamProjectActivity", tag = "team projects",
    params(("id" = TeamProjectId, Path), ActivityQuery), security(("bearer" = ["sessions:read", "teams"])),
    responses(
        (status = 200, description = "A page of the sessions, newest first", body = ActivityResponse),
        (status = 400, description = "A parameter has an invalid value", body = ErrorBody),
        (status = 403, description = "Not authorized to access this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn list(
    state: State,
    caller: Caller<TeamActivity>,
    Path((id,)): Path<(String,)>,
    query: Result<Query<ActivityQuery>, Problem>,
) -> Result<web::Json<ActivityResponse>, Error> {
    let id = parse_id(&id)?;
    Ok(web::Json(
        service::list(&state, caller.into(), id, query).await?,
    ))
}
