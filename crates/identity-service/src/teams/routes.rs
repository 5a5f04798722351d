use actix_web::web::{Data, ServiceConfig};
use actix_web::{FromRequest as _, HttpRequest, HttpResponse};
use auth_types::wire::IdentityError;
use service_kit::http::{Json, Path, Query, endpoint};

use super::authorization::{TeamAdmin, TeamMember, TeamOwner};
use super::wire::{
    AddMemberRequest, ChangeRoleRequest, ChangeTeamRequest, CreateTeamRequest, MemberResponse,
    MembersResponse, PageQuery, TeamDetailResponse, TeamResponse, TeamsResponse,
};
use super::{members, service};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/teams").get(list_teams).post(create_team))
        .service(endpoint("/api/user/teams").get(list_own_teams))
        .service(
            endpoint("/api/teams/{slug}")
                .get(get_team)
                .put(change_team)
                .delete(delete_team),
        )
        .service(endpoint("/api/teams/{slug}/leave").post(leave))
        .service(
            endpoint("/api/teams/{slug}/members")
                .get(list_members)
                .post(add_member),
        )
        .service(
            endpoint("/api/teams/{slug}/members/{username}")
                .put(change_role)
                .delete(remove_member),
        );
}

/// Lists the caller's teams.
#[utoipa::path(
    get, path = "/api/teams", tag = "teams", security(("bearer" = [])),
    responses(
        (status = 200, description = "The teams: first those that the caller owns, then the others, each group oldest first", body = TeamsResponse),
    )
)]
async fn list_teams(app: Data<App>, caller: CurrentUser) -> Result<HttpResponse, Error> {
    let teams = service::list_teams(&app, &caller).await?;
    Ok(HttpResponse::Ok().json(TeamsResponse { teams }))
}

/// Lists the caller's teams; the same as `GET /api/teams`.
#[utoipa::path(
    get, path = "/api/user/teams", tag = "teams", security(("bearer" = [])),
    responses(
        (status = 200, description = "The teams: first those that the caller owns, then the others, each group oldest first", body = TeamsResponse),
    )
)]
async fn list_own_teams(app: Data<App>, caller: CurrentUser) -> Result<HttpResponse, Error> {
    list_teams(app, caller).await
}

/// Creates a team that the caller owns.
#[utoipa::path(
    post, path = "/api/teams", tag = "teams", security(("bearer" = [])), request_body = CreateTeamRequest,
    responses(
        (status = 201, description = "The team was created.", body = TeamResponse),
        (status = 409, description = "`slug_taken`", body = IdentityError),
    )
)]
async fn create_team(
    app: Data<App>,
    context: RequestContext,
    caller: CurrentUser,
    body: Json<CreateTeamRequest>,
) -> actix_web::Result<HttpResponse> {
    let team = service::create_team(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Created().json(TeamResponse { team }))
}

/// Returns a team of the caller.
#[utoipa::path(
    get, path = "/api/teams/{slug}", tag = "teams", security(("bearer" = [])), params(("slug" = String, Path)),
    responses(
        (status = 200, description = "The team", body = TeamDetailResponse),
    )
)]
async fn get_team(app: Data<App>, member: TeamMember) -> Result<HttpResponse, Error> {
    Ok(HttpResponse::Ok().json(service::get_team(&app, member).await?))
}

/// Changes name and description, for admins and the owner, or the slug, for the owner only.
#[utoipa::path(
    put, path = "/api/teams/{slug}", tag = "teams", security(("bearer" = [])), params(("slug" = String, Path)),
    request_body = ChangeTeamRequest,
    responses(
        (status = 200, description = "The updated team", body = TeamResponse),
        (status = 403, description = "`forbidden`", body = IdentityError),
        (status = 409, description = "`slug_taken`", body = IdentityError),
    )
)]
async fn change_team(
    app: Data<App>,
    context: RequestContext,
    admin: TeamAdmin,
    body: Json<ChangeTeamRequest>,
) -> actix_web::Result<HttpResponse> {
    let team = service::change_team(&app, &admin, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(TeamResponse { team }))
}

/// Deletes a team with its memberships and invitations. Requires the owner.
#[utoipa::path(
    delete, path = "/api/teams/{slug}", tag = "teams", security(("bearer" = [])), params(("slug" = String, Path)),
    responses(
        (status = 204, description = "The team was deleted."),
        (status = 403, description = "`forbidden`", body = IdentityError),
    )
)]
async fn delete_team(
    app: Data<App>,
    context: RequestContext,
    owner: TeamOwner,
) -> Result<HttpResponse, Error> {
    service::delete_team(&app, &owner, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Leaves a team. Equivalent to deleting the caller's own membership.
#[utoipa::path(
    post, path = "/api/teams/{slug}/leave", operation_id = "leaveTeam", tag = "teams", security(("bearer" = [])), params(("slug" = String, Path)),
    responses(
        (status = 204, description = "The account is no longer a member."),
        (status = 409, description = "`last_owner`", body = IdentityError),
    )
)]
async fn leave(
    app: Data<App>,
    context: RequestContext,
    member: TeamMember,
) -> Result<HttpResponse, Error> {
    members::leave(&app, &member, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lists the members of a team in the order in which they joined.
#[utoipa::path(
    get, path = "/api/teams/{slug}/members", operation_id = "listTeamMembers", tag = "teams", security(("bearer" = [])), params(("slug" = String, Path), PageQuery),
    responses(
        (status = 200, description = "The members", body = MembersResponse),
        (status = 400, description = "`validation_failed`", body = IdentityError),
    )
)]
async fn list_members(
    app: Data<App>,
    member: TeamMember,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    // Read here rather than as an argument, so that the membership is checked before the query.
    let page = Query::<PageQuery>::extract(&req).await?.0;
    Ok(HttpResponse::Ok().json(members::list_members(&app, &member, page).await?))
}

/// Adds an account to a team without an invitation. Requires an admin or the owner.
///
/// A member who left on their own must be invited. Everybody must be, if the operator sets `IDENTITY__TEAMS__DIRECT_ADD`
/// to false.
#[utoipa::path(
    post, path = "/api/teams/{slug}/members", operation_id = "addTeamMember", tag = "teams", security(("bearer" = [])), params(("slug" = String, Path)),
    request_body = AddMemberRequest,
    responses(
        (status = 201, description = "The account was added to the team.", body = MemberResponse),
        (status = 403, description = "`forbidden`, or `invitation_required`: members can be added only by invitation", body = IdentityError),
        (status = 404, description = "`team_not_found` or `user_not_found`", body = IdentityError),
        (status = 409, description = "`already_member`, or `member_left`: the account left the team and must be invited", body = IdentityError),
    )
)]
async fn add_member(
    app: Data<App>,
    context: RequestContext,
    admin: TeamAdmin,
    body: Json<AddMemberRequest>,
) -> actix_web::Result<HttpResponse> {
    let member = members::add_member(&app, &admin, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Created().json(MemberResponse { member }))
}

/// Changes a member's role. Requires an admin or the owner; only the owner can hand the team over with the role `owner`.
#[utoipa::path(
    put, path = "/api/teams/{slug}/members/{username}", operation_id = "changeTeamRole", tag = "teams", security(("bearer" = [])),
    params(("slug" = String, Path), ("username" = String, Path)), request_body = ChangeRoleRequest,
    responses(
        (status = 200, description = "The updated member", body = MemberResponse),
        (status = 403, description = "`forbidden`", body = IdentityError),
        (status = 404, description = "`team_not_found` or `member_not_found`", body = IdentityError),
        (status = 409, description = "`last_owner`", body = IdentityError),
    )
)]
async fn change_role(
    app: Data<App>,
    context: RequestContext,
    admin: TeamAdmin,
    path: Path<(String, String)>,
    body: Json<ChangeRoleRequest>,
) -> actix_web::Result<HttpResponse> {
    let (_, username) = path.0;
    let member =
        members::change_role(&app, &admin, &username, &body.into_inner()?.role, &context).await?;
    Ok(HttpResponse::Ok().json(MemberResponse { member }))
}

/// Removes a member, or leaves if the username is the caller's own. The owner can neither leave nor be removed.
#[utoipa::path(
    delete, path = "/api/teams/{slug}/members/{username}", operation_id = "removeTeamMember", tag = "teams", security(("bearer" = [])),
    params(("slug" = String, Path), ("username" = String, Path)),
    responses(
        (status = 204, description = "The account is no longer a member."),
        (status = 403, description = "`forbidden`", body = IdentityError),
        (status = 404, description = "`team_not_found` or `member_not_found`", body = IdentityError),
        (status = 409, description = "`last_owner`", body = IdentityError),
    )
)]
async fn remove_member(
    app: Data<App>,
    context: RequestContext,
    member: TeamMember,
    path: Path<(String, String)>,
) -> Result<HttpResponse, Error> {
    let (_, username) = path.0;
    members::remove_member(&app, &member, &username, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}
