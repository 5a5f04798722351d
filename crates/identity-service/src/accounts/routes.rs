use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::UserId;
use auth_types::wire::{IdentityError, TokenPair};
use service_kit::http::{Json, endpoint};

use super::service;
use super::wire::{RegisterRequest, StatusResponse, UserResponse};
use crate::app::App;
use crate::auth::{CurrentUser, MaybeUser};
use crate::deletion;
use crate::error::Error;
use crate::profiles;
use crate::rate_limits::AddressLimit;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/register").post(register))
        .service(endpoint("/api/auth/me").get(me))
        .service(
            endpoint("/api/auth/user/{user_id}")
                .get(get_user)
                .put(profiles::routes::update_user)
                .delete(deletion::routes::delete_account),
        )
        .service(endpoint("/api/status").get(status));
}

/// Creates an account and signs it in.
#[utoipa::path(
    post, path = "/api/auth/register", tag = "accounts", request_body = RegisterRequest,
    responses(
        (status = 201, description = "The account was created.", body = TokenPair),
        (status = 400, description = "`validation_failed`, `password_too_long`, `weak_password`, `username_taken` or `email_taken`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn register(
    app: Data<App>,
    context: RequestContext,
    body: Json<RegisterRequest>,
) -> actix_web::Result<HttpResponse> {
    app.rate_limits
        .check_address(AddressLimit::Register, context.address)?;
    let pair = service::register(&app, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Created().json(pair))
}

/// Returns the caller's own account.
#[utoipa::path(
    get, path = "/api/auth/me", operation_id = "getOwnUser", tag = "accounts", security(("bearer" = [])),
    responses(
        (status = 200, description = "The account", body = UserResponse),
    )
)]
async fn me(app: Data<App>, caller: CurrentUser) -> Result<HttpResponse, Error> {
    let now = app.clock.now_naive();
    let user = caller
        .account
        .to_user(caller.of_themselves(), now, &app.base_url)?;
    Ok(HttpResponse::Ok().json(UserResponse { user }))
}

/// Returns the public data of an account. The e-mail address is null unless the caller is its owner or a SUPERADMIN.
#[utoipa::path(
    get, path = "/api/auth/user/{user_id}", tag = "accounts", params(("user_id" = UserId, Path)), security((), ("bearer" = [])),
    responses(
        (status = 200, description = "The account", body = UserResponse),
        (status = 404, description = "`user_not_found`", body = IdentityError),
    )
)]
async fn get_user(
    app: Data<App>,
    user_id: service_kit::http::Path<(String,)>,
    viewer: MaybeUser,
) -> Result<HttpResponse, Error> {
    let (user_id,) = user_id.0;
    let user_id = user_id.parse().map_err(|_| Error::UserNotFound)?;
    let user = service::get_user(&app, user_id, viewer.0.as_ref()).await?;
    Ok(HttpResponse::Ok().json(UserResponse { user }))
}

/// Returns whether the service works, and the number of active accounts.
#[utoipa::path(
    get, path = "/api/status", operation_id = "getStatus", tag = "status",
    responses(
        (status = 200, description = "The service works.", body = StatusResponse),
    )
)]
async fn status(app: Data<App>) -> Result<HttpResponse, Error> {
    let total_users = service::count_users(&app).await?;
    Ok(HttpResponse::Ok().json(StatusResponse {
        status: "ok",
        total_users,
    }))
}
