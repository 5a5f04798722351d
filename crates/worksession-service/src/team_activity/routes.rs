use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Query, endpoint};

use super::service;
use super::wire::{TeamActivityQuery, TeamActivityResponse};
use crate::app_state::State;
use crate::auth::{Caller, TeamActivity};
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/team-activity").get(show));
}

/// Returns a team's running sessions and what each user lately planned and finished on its projects; for members.
#[utoipa::path(
    get, path = "/api/team-activity", operation_id = "getTeamActivity", tag = "team projects", params(TeamActivityQuery),
    security(("bearer" = ["sessions:read", "teams"])),
    responses(
        (status = 200, description = "The running sessions and the totals of each user", body = TeamActivityResponse),
        (status = 400, description = "A parameter has an invalid value", body = ErrorBody),
        (status = 403, description = "Not authorized to access this team's activity", body = ErrorBody),
    )
)]
pub(crate) async fn show(
    state: State,
    caller: Caller<TeamActivity>,
    query: Result<Query<TeamActivityQuery>, Problem>,
) -> Result<web::Json<TeamActivityResponse>, Error> {
    let response = service::show(&state, caller.into(), query?.0).await?;
    Ok(web::Json(response))
}
