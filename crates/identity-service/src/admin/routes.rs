use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::UserId;
use auth_types::wire::IdentityError;
use service_kit::Problem;
use service_kit::http::{Json, OptionalJson, Path, Query, endpoint};

use super::model::NewUser;
use super::service;
use super::wire::{
    AdminUserList, AdminUserResponse, CreateUserRequest, PasswordResponse, ResetPasswordRequest,
    RevokedResponse, SearchQuery, UpdateUserRequest,
};
use crate::accounts::{Email, Username};
use crate::app::App;
use crate::auth::SuperAdmin;
use crate::error::Error;
use crate::passwords::Password;
use crate::request_context::RequestContext;

/// The account id in a path. A malformed id counts as an account that does not exist.
pub(crate) type UserPath = Result<Path<(UserId,)>, Problem>;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(
        endpoint("/api/admin/users")
            .get(search_users)
            .post(create_user),
    )
    .service(
        endpoint("/api/admin/users/{user_id}")
            .get(get_admin_user)
            .patch(update_user),
    )
    .service(endpoint("/api/admin/users/{user_id}/reset-password").post(reset_password))
    .service(endpoint("/api/admin/users/{user_id}/revoke-sessions").post(revoke_sessions));
}

/// Searches the accounts, in order of id.
#[utoipa::path(
    get, path = "/api/admin/users", tag = "administration", params(SearchQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "A page of accounts", body = AdminUserList),
        (status = 400, description = "`validation_failed`", body = IdentityError),
    )
)]
async fn search_users(
    app: Data<App>,
    _: SuperAdmin,
    query: Result<Query<SearchQuery>, Problem>,
) -> actix_web::Result<HttpResponse> {
    Ok(HttpResponse::Ok().json(service::search(&app, query?.0).await?))
}

/// Returns an account, active or not.
#[utoipa::path(
    get, path = "/api/admin/users/{user_id}", operation_id = "getUserAsAdmin", tag = "administration", params(("user_id" = UserId, Path)), security(("bearer" = [])),
    responses(
        (status = 200, description = "The account", body = AdminUserResponse),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn get_admin_user(
    app: Data<App>,
    _: SuperAdmin,
    id: UserPath,
) -> Result<HttpResponse, Error> {
    let user = service::get(&app, existing_id(id)?).await?;
    Ok(HttpResponse::Ok().json(AdminUserResponse { user }))
}

/// Creates an account without signing it in.
#[utoipa::path(
    post, path = "/api/admin/users", tag = "administration", request_body = CreateUserRequest, security(("bearer" = [])),
    responses(
        (status = 201, description = "The account, with its generated password if the request contained none", body = PasswordResponse),
        (status = 400, description = "`validation_failed`, `password_too_long`, `weak_password`, `username_taken` or `email_taken`", body = IdentityError),
    )
)]
async fn create_user(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    body: Json<CreateUserRequest>,
) -> actix_web::Result<HttpResponse> {
    let request = body.into_inner()?;
    let password = request.password.as_deref().map(Password::parse_new);
    let new = NewUser {
        username: Username::parse(&request.username)?,
        email: request.email.as_deref().map(Email::parse).transpose()?,
        password: password.transpose()?,
        role: request.role.unwrap_or(auth_types::AccountRole::User),
    };
    let context = context.for_admin(&admin);
    let created = service::create(&app, new, &context).await?;
    Ok(HttpResponse::Created().json(created))
}

/// Changes role, plan or active state. Deactivating an account ends all its sessions at once.
#[utoipa::path(
    patch, path = "/api/admin/users/{user_id}", operation_id = "updateUserAsAdmin", tag = "administration", params(("user_id" = UserId, Path)),
    request_body = UpdateUserRequest, security(("bearer" = [])),
    responses(
        (status = 200, description = "The updated account", body = AdminUserResponse),
        (status = 403, description = "`forbidden`: the caller is not a SUPERADMIN, signed in more than 12 hours ago, or tries to remove their own rights", body = IdentityError),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn update_user(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    id: UserPath,
    body: Json<UpdateUserRequest>,
) -> actix_web::Result<HttpResponse> {
    let id = existing_id(id)?;
    let changes = body.into_inner()?;
    let context = context.for_admin(&admin);
    let updated = service::update(&app, id, changes, &context).await?;
    let user = updated.user;
    Ok(HttpResponse::Ok().json(AdminUserResponse { user }))
}

/// Sets a new password and ends all sessions of the account.
#[utoipa::path(
    post, path = "/api/admin/users/{user_id}/reset-password", operation_id = "resetUserPassword", tag = "administration", params(("user_id" = UserId, Path)),
    request_body = Option<ResetPasswordRequest>, security(("bearer" = [])),
    responses(
        (status = 200, description = "The account, with its generated password if the request contained none", body = PasswordResponse),
        (status = 400, description = "`validation_failed`, `password_too_long` or `weak_password`", body = IdentityError),
        (status = 403, description = "`forbidden`: the caller is not a SUPERADMIN, signed in more than 12 hours ago, or owns the account", body = IdentityError),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn reset_password(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    id: UserPath,
    body: OptionalJson<ResetPasswordRequest>,
) -> actix_web::Result<HttpResponse> {
    let id = existing_id(id)?;
    let request = body.into_inner()?.unwrap_or_default();
    let password = request.password.as_deref().map(Password::parse_new);
    let context = context.for_admin(&admin);
    let reset = service::reset_password(&app, id, password.transpose()?, &context).await?;
    Ok(HttpResponse::Ok().json(reset))
}

/// Ends all sessions of an account.
#[utoipa::path(
    post, path = "/api/admin/users/{user_id}/revoke-sessions", operation_id = "revokeUserSessions", tag = "administration", params(("user_id" = UserId, Path)), security(("bearer" = [])),
    responses(
        (status = 200, description = "All sessions of the account were ended.", body = RevokedResponse),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn revoke_sessions(
    app: Data<App>,
    admin: SuperAdmin,
    context: RequestContext,
    id: UserPath,
) -> Result<HttpResponse, Error> {
    let context = context.for_admin(&admin);
    let sessions_ended = service::revoke_sessions(&app, existing_id(id)?, &context).await?;
    Ok(HttpResponse::Ok().json(RevokedResponse { sessions_ended }))
}

pub(crate) fn existing_id(id: UserPath) -> Result<UserId, Error> {
    id.map(|Path((id,))| id).map_err(|_| Error::UserNotFound)
}
