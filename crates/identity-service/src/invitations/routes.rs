use actix_web::web::{Data, ServiceConfig};
use actix_web::{FromRequest as _, HttpRequest, HttpResponse};
use auth_types::wire::IdentityError;
use service_kit::http::{Json, Path, Query, endpoint};

use super::model::InvitationRef;
use super::wire::{
    AcceptResponse, InvitationsQuery, InvitationsResponse, InviteRequest, InviteResponse,
};
use super::{acceptance, service};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::teams::authorization::TeamAdmin;
use crate::teams::wire::PageQuery;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/teams/{slug}/invite").post(invite))
        .service(endpoint("/api/teams/{slug}/invitations").get(list_of_team))
        .service(endpoint("/api/teams/{slug}/invitations/{id}").delete(revoke))
        .service(
            endpoint("/api/invitations/{token}")
                .post(accept)
                .delete(decline),
        )
        .service(endpoint("/api/user/invitations").get(list_own));
}

/// Invites an address to the team by mail; for admins and the owner. Inviting it again renews the invitation and
/// sends another mail, and the link in the older mail stops working.
#[utoipa::path(
    post, path = "/api/teams/{slug}/invite", operation_id = "inviteToTeam", tag = "invitations", security(("bearer" = [])),
    params(("slug" = String, Path)), request_body = InviteRequest,
    responses(
        (status = 200, description = "The invitation, which is sent by mail. The response is the same whether or not the address has an account.", body = InviteResponse),
        (status = 403, description = "`forbidden`", body = IdentityError),
        (status = 429, description = "`rate_limited`: 20 at once, then 20 per hour; see `Retry-After`", body = IdentityError),
    )
)]
async fn invite(
    app: Data<App>,
    context: RequestContext,
    admin: TeamAdmin,
    body: Json<InviteRequest>,
) -> actix_web::Result<HttpResponse> {
    let invitation = service::invite(&app, &admin, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(InviteResponse {
        message: "The invitation was sent",
        invitation,
    }))
}

/// Returns the team's invitations, newest first; for admins and the owner.
#[utoipa::path(
    get, path = "/api/teams/{slug}/invitations", operation_id = "listTeamInvitations", tag = "invitations", security(("bearer" = [])),
    params(("slug" = String, Path), InvitationsQuery),
    responses(
        (status = 200, description = "The invitations", body = InvitationsResponse),
        (status = 400, description = "`validation_failed`", body = IdentityError),
        (status = 403, description = "`forbidden`", body = IdentityError),
    )
)]
async fn list_of_team(
    app: Data<App>,
    admin: TeamAdmin,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    // Extracted here rather than as an argument, because the right to see the team is checked first.
    let query = Query::<InvitationsQuery>::extract(&req).await?.0;
    Ok(HttpResponse::Ok().json(service::list_of_team(&app, &admin, query).await?))
}

/// Withdraws an invitation; for admins and the owner.
#[utoipa::path(
    delete, path = "/api/teams/{slug}/invitations/{id}", operation_id = "withdrawInvitation", tag = "invitations", security(("bearer" = [])),
    params(("slug" = String, Path), ("id" = String, Path, format = Uuid)),
    responses(
        (status = 204, description = "The invitation can no longer be accepted."),
        (status = 403, description = "`forbidden`", body = IdentityError),
        (status = 404, description = "`team_not_found`, also if the caller is not a member, or `invitation_not_found`", body = IdentityError),
        (status = 410, description = "`invitation_gone`: the invitation was already accepted, withdrawn or declined, or has expired", body = IdentityError),
    )
)]
async fn revoke(
    app: Data<App>,
    context: RequestContext,
    admin: TeamAdmin,
    path: Path<(String, String)>,
) -> Result<HttpResponse, Error> {
    let (_, id) = path.0;
    service::revoke(&app, &admin, &id, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Joins a team, with the token from the mail or with the invitation's id. The id works only for an account whose
/// verified address was invited. A member gets 200 as well, and keeps their role.
#[utoipa::path(
    post, path = "/api/invitations/{token}", operation_id = "acceptInvitation", tag = "invitations", security(("bearer" = [])),
    params(("token" = String, Path, description = "The token from the link in the mail, or the id of the invitation")),
    responses(
        (status = 200, description = "The caller is a member of the team.", body = AcceptResponse),
        (status = 400, description = "`validation_failed`: the caller already belongs to the maximum number of teams", body = IdentityError),
        (status = 404, description = "`invitation_not_found`", body = IdentityError),
        (status = 410, description = "`invitation_gone`: the invitation was accepted, withdrawn or declined, or has expired", body = IdentityError),
    )
)]
async fn accept(
    app: Data<App>,
    context: RequestContext,
    caller: CurrentUser,
    path: Path<(String,)>,
) -> Result<HttpResponse, Error> {
    let reference = InvitationRef::parse(path.0.0);
    let joined = acceptance::accept(&app, &caller, reference, &context).await?;
    Ok(HttpResponse::Ok().json(joined))
}

/// Declines an invitation, with the token from the mail or with the invitation's id. The id works only for an account
/// whose verified address was invited.
#[utoipa::path(
    delete, path = "/api/invitations/{token}", operation_id = "declineInvitation", tag = "invitations", security(("bearer" = [])),
    params(("token" = String, Path, description = "The id of the invitation, or the token from the link in the mail")),
    responses(
        (status = 204, description = "The invitation can no longer be accepted."),
        (status = 404, description = "`invitation_not_found`", body = IdentityError),
        (status = 410, description = "`invitation_gone`: the invitation was already accepted, withdrawn or declined, or has expired", body = IdentityError),
    )
)]
async fn decline(
    app: Data<App>,
    context: RequestContext,
    caller: CurrentUser,
    path: Path<(String,)>,
) -> Result<HttpResponse, Error> {
    let reference = InvitationRef::parse(path.0.0);
    acceptance::decline(&app, &caller, reference, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the pending invitations for the account's e-mail address, newest first; none unless it is verified.
#[utoipa::path(
    get, path = "/api/user/invitations", operation_id = "listOwnInvitations", tag = "invitations", security(("bearer" = [])), params(PageQuery),
    responses(
        (status = 200, description = "The invitations, without their tokens", body = InvitationsResponse),
        (status = 400, description = "`validation_failed`", body = IdentityError),
    )
)]
async fn list_own(
    app: Data<App>,
    caller: CurrentUser,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    // Extracted here rather than as an argument, because the token is checked first.
    let page = Query::<PageQuery>::extract(&req).await?.0;
    Ok(HttpResponse::Ok().json(acceptance::list_own(&app, &caller, page).await?))
}
