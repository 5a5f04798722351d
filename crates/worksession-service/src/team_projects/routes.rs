use actix_web::{HttpResponse, web};
use service_kit::Problem;
use service_kit::http::{Json, Path, Query, endpoint};

use super::wire::{
    CreateTeamProjectRequest, TeamProjectDetail, TeamProjectsResponse, UpdateTeamProjectRequest,
    parse_id,
};
use super::{activity, service};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead, TeamsWrite};
use crate::error::{Error, ErrorBody};
use crate::projects::{ProjectListQuery, TeamProjectId};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(endpoint("/api/team-projects").get(list).post(create))
        .service(
            endpoint("/api/team-projects/{id}")
                .get(detail)
                .put(update)
                .delete(archive),
        )
        .service(endpoint("/api/team-projects/{id}/activity").get(activity::routes::list));
}

/// Lists the projects of the teams in which the caller is an active member.
#[utoipa::path(
    get, path = "/api/team-projects", operation_id = "listTeamProjects", tag = "team projects", params(ProjectListQuery),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The projects, oldest first", body = TeamProjectsResponse),
    )
)]
pub(crate) async fn list(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<ProjectListQuery>, Problem>,
) -> Result<web::Json<TeamProjectsResponse>, Error> {
    Ok(web::Json(
        service::list(&state, &caller, query?.0.archived).await?,
    ))
}

/// Creates a team project; for owners and admins of the team.
#[utoipa::path(
    post, path = "/api/team-projects", operation_id = "createTeamProject", tag = "team projects", request_body = CreateTeamProjectRequest,
    security(("bearer" = ["teams:write"])),
    responses(
        (status = 201, description = "The project was created.", body = TeamProjectDetail),
        (status = 403, description = "Not authorized to change this team project", body = ErrorBody),
        (status = 409, description = "There are too many projects already", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    state: State,
    caller: Caller<TeamsWrite>,
    request: Json<CreateTeamProjectRequest>,
) -> Result<HttpResponse, Error> {
    Ok(
        HttpResponse::Created()
            .json(service::create(&state, &caller, request.into_inner()?).await?),
    )
}

/// Returns a team project to members of its team, and a public one to every signed-in user.
#[utoipa::path(
    get, path = "/api/team-projects/{id}", operation_id = "getTeamProject", tag = "team projects", params(("id" = TeamProjectId, Path)),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The project", body = TeamProjectDetail),
        (status = 403, description = "Not authorized to access this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn detail(
    state: State,
    caller: Caller<SessionsRead>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<TeamProjectDetail>, Error> {
    Ok(web::Json(
        service::detail(&state, &caller, parse_id(&id)?).await?,
    ))
}

/// Changes a team project; for owners and admins of the team.
#[utoipa::path(
    put, path = "/api/team-projects/{id}", operation_id = "updateTeamProject", tag = "team projects", params(("id" = TeamProjectId, Path)),
    request_body = UpdateTeamProjectRequest, security(("bearer" = ["teams:write"])),
    responses(
        (status = 200, description = "The updated project", body = TeamProjectDetail),
        (status = 403, description = "Not authorized to change this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn update(
    state: State,
    caller: Caller<TeamsWrite>,
    Path((id,)): Path<(String,)>,
    request: Json<UpdateTeamProjectRequest>,
) -> Result<web::Json<TeamProjectDetail>, Error> {
    Ok(web::Json(
        service::update(&state, caller.into(), parse_id(&id)?, request).await?,
    ))
}

/// Archives a team project; for owners and admins of the team.
#[utoipa::path(
    delete, path = "/api/team-projects/{id}", operation_id = "archiveTeamProject", tag = "team projects", params(("id" = TeamProjectId, Path)),
    security(("bearer" = ["teams:write"])),
    responses(
        (status = 204, description = "The project was archived."),
        (status = 403, description = "Not authorized to change this team project", body = ErrorBody),
        (status = 404, description = "Team project not found", body = ErrorBody),
    )
)]
pub(crate) async fn archive(
    state: State,
    caller: Caller<TeamsWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<HttpResponse, Error> {
    service::archive(&state, caller.into(), parse_id(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}
