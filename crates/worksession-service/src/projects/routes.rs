use actix_web::{HttpResponse, web};
use service_kit::Problem;
use service_kit::http::{Json, Path, Query, endpoint};

use super::wire::{
    AllProjectsResponse, CreateProjectRequest, ProjectListQuery, ProjectResponse, ProjectsResponse,
    UpdateProjectRequest,
};
use super::{ProjectId, service};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead, SessionsWrite};
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(endpoint("/api/projects").get(list).post(create))
        .service(
            endpoint("/api/projects/{id}")
                .get(detail)
                .put(update)
                .delete(archive),
        )
        .service(endpoint("/api/all-projects").get(list_all));
}

/// Lists the caller's personal projects.
#[utoipa::path(
    get, path = "/api/projects", operation_id = "listProjects", tag = "projects", params(ProjectListQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The projects, oldest first", body = ProjectsResponse),
    )
)]
pub(crate) async fn list(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<ProjectListQuery>, Problem>,
) -> Result<web::Json<ProjectsResponse>, Error> {
    let rows = service::list(&state, caller.id, query?.0.archived).await?;
    Ok(web::Json(ProjectsResponse {
        success: true,
        projects: rows.into_iter().map(Into::into).collect(),
    }))
}

/// Creates a personal project.
#[utoipa::path(
    post, path = "/api/projects", operation_id = "createProject", tag = "projects", request_body = CreateProjectRequest,
    security(("bearer" = ["sessions:write"])),
    responses(
        (status = 201, description = "The project was created.", body = ProjectResponse),
        (status = 409, description = "There are too many projects already", body = ErrorBody),
    )
)]
pub(crate) async fn create(
    state: State,
    caller: Caller<SessionsWrite>,
    request: Json<CreateProjectRequest>,
) -> Result<HttpResponse, Error> {
    let row = service::create(&state, caller.id, request.into_inner()?).await?;
    Ok(HttpResponse::Created().json(ProjectResponse::from(row)))
}

/// Returns one of the caller's personal projects.
#[utoipa::path(
    get, path = "/api/projects/{id}", operation_id = "getProject", tag = "projects", params(("id" = ProjectId, Path)),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The project", body = ProjectResponse),
        (status = 404, description = "Project not found", body = ErrorBody),
    )
)]
pub(crate) async fn detail(
    state: State,
    caller: Caller<SessionsRead>,
    Path((id,)): Path<(String,)>,
) -> Result<web::Json<ProjectResponse>, Error> {
    let row = service::find(&state, caller.id, parse_id(&id)?).await?;
    Ok(web::Json(row.into()))
}

/// Changes a personal project.
#[utoipa::path(
    put, path = "/api/projects/{id}", operation_id = "updateProject", tag = "projects", params(("id" = ProjectId, Path)),
    request_body = UpdateProjectRequest, security(("bearer" = ["sessions:write"])),
    responses(
        (status = 200, description = "The updated project", body = ProjectResponse),
        (status = 404, description = "Project not found", body = ErrorBody),
    )
)]
pub(crate) async fn update(
    state: State,
    caller: Caller<SessionsWrite>,
    Path((id,)): Path<(String,)>,
    request: Json<UpdateProjectRequest>,
) -> Result<web::Json<ProjectResponse>, Error> {
    let row = service::update(&state, caller.id, parse_id(&id)?, request.into_inner()?).await?;
    Ok(web::Json(row.into()))
}

/// Archives a personal project: it leaves the default lists and accepts no more starts, but stays readable.
#[utoipa::path(
    delete, path = "/api/projects/{id}", operation_id = "archiveProject", tag = "projects", params(("id" = ProjectId, Path)),
    security(("bearer" = ["sessions:write"])),
    responses(
        (status = 204, description = "The project was archived."),
        (status = 404, description = "Project not found", body = ErrorBody),
    )
)]
pub(crate) async fn archive(
    state: State,
    caller: Caller<SessionsWrite>,
    Path((id,)): Path<(String,)>,
) -> Result<HttpResponse, Error> {
    service::archive(&state, caller.id, parse_id(&id)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lists the projects on which the caller can start a session.
#[utoipa::path(
    get, path = "/api/all-projects", operation_id = "listAllProjects", tag = "projects", params(ProjectListQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The personal projects, then those of the caller's teams", body = AllProjectsResponse),
    )
)]
pub(crate) async fn list_all(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<ProjectListQuery>, Problem>,
) -> Result<web::Json<AllProjectsResponse>, Error> {
    Ok(web::Json(
        service::list_all(&state, &caller, query?.0.archived).await?,
    ))
}

fn parse_id(text: &str) -> Result<ProjectId, Error> {
    text.parse().map_err(|_| Error::ProjectNotFound)
}
