use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::http::{Json, endpoint};

use super::service;
use super::wire::{
    RecoveryCodes, TotpChangeRequest, TotpConfirmRequest, TotpSetup, TotpSetupRequest, TotpStatus,
};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/totp").get(get_totp))
        .service(endpoint("/api/auth/totp/setup").post(set_up_totp))
        .service(endpoint("/api/auth/totp/confirm").post(confirm_totp))
        .service(endpoint("/api/auth/totp/disable").post(disable_totp))
        .service(endpoint("/api/auth/totp/recovery-codes").post(renew_recovery_codes));
}

/// Returns whether the caller's account has a second factor.
#[utoipa::path(
    get, path = "/api/auth/totp", tag = "second factor", security(("bearer" = [])),
    responses(
        (status = 200, description = "The state of the second factor", body = TotpStatus),
    )
)]
async fn get_totp(app: Data<App>, caller: CurrentUser) -> Result<HttpResponse, Error> {
    Ok(HttpResponse::Ok().json(service::status(&app, &caller).await?))
}

/// Creates a secret for an authenticator app. It takes effect once it is confirmed.
#[utoipa::path(
    post, path = "/api/auth/totp/setup", tag = "second factor", security(("bearer" = [])), request_body = TotpSetupRequest,
    responses(
        (status = 200, description = "The secret, which is shown only in this response", body = TotpSetup),
        (status = 400, description = "`validation_failed`, also if the second factor is already on", body = IdentityError),
        (status = 401, description = "`invalid_credentials`, `authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn set_up_totp(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: Json<TotpSetupRequest>,
) -> actix_web::Result<HttpResponse> {
    let made = service::set_up(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(made))
}

/// Switches the second factor on with a code from the authenticator app.
#[utoipa::path(
    post, path = "/api/auth/totp/confirm", tag = "second factor", security(("bearer" = [])), request_body = TotpConfirmRequest,
    responses(
        (status = 200, description = "The second factor is on. The recovery codes are shown only in this response.", body = RecoveryCodes),
        (status = 400, description = "`validation_failed`, also if there is nothing to confirm", body = IdentityError),
        (status = 401, description = "`invalid_credentials` for a wrong code; `authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn confirm_totp(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: Json<TotpConfirmRequest>,
) -> actix_web::Result<HttpResponse> {
    let codes = service::confirm(&app, &caller, &body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(codes))
}

/// Switches the second factor off.
#[utoipa::path(
    post, path = "/api/auth/totp/disable", tag = "second factor", security(("bearer" = [])), request_body = TotpChangeRequest,
    responses(
        (status = 204, description = "The second factor is off."),
        (status = 400, description = "`validation_failed`, also if the second factor was not on", body = IdentityError),
        (status = 401, description = "`invalid_credentials`, `totp_required`, `authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn disable_totp(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: Json<TotpChangeRequest>,
) -> actix_web::Result<HttpResponse> {
    service::disable(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Replaces the recovery codes with new ones.
#[utoipa::path(
    post, path = "/api/auth/totp/recovery-codes", tag = "second factor", security(("bearer" = [])), request_body = TotpChangeRequest,
    responses(
        (status = 200, description = "The codes, which are shown only in this response", body = RecoveryCodes),
        (status = 400, description = "`validation_failed`, also if the second factor is not on", body = IdentityError),
        (status = 401, description = "`invalid_credentials`, `totp_required`, `authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn renew_recovery_codes(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: Json<TotpChangeRequest>,
) -> actix_web::Result<HttpResponse> {
    let codes = service::renew_codes(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(codes))
}
