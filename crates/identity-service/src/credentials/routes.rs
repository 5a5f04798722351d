use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::http::{Json, endpoint};

use super::wire::{
    ChangeEmailRequest, ChangePasswordRequest, ForgotRequest, ForgotResponse, ResetRequest,
    VerifyEmailRequest,
};
use super::{email, password_change, password_reset};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/password/change").post(change_password))
        .service(endpoint("/api/auth/password/forgot").post(forgot_password))
        .service(endpoint("/api/auth/password/reset").post(reset_password))
        .service(endpoint("/api/auth/email/verify").post(verify_email))
        .service(endpoint("/api/auth/email/change").post(change_email));
}

/// Replaces the caller's password and ends all their other sessions.
#[utoipa::path(
    post, path = "/api/auth/password/change", tag = "credentials", security(("bearer" = [])), request_body = ChangePasswordRequest,
    responses(
        (status = 204, description = "The password was changed."),
        (status = 400, description = "`validation_failed`, `password_too_long` or `weak_password`", body = IdentityError),
        (status = 401, description = "`invalid_credentials`, `totp_required`, `authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn change_password(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: Json<ChangePasswordRequest>,
) -> actix_web::Result<HttpResponse> {
    password_change::change(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Mails a link for setting a new password. Neither the response nor its timing reveals whether there is such an
/// account.
#[utoipa::path(
    post, path = "/api/auth/password/forgot", tag = "credentials", request_body = ForgotRequest,
    responses(
        (status = 202, description = "The request was accepted.", body = ForgotResponse),
        (status = 429, description = "`rate_limited`, per client address; see `Retry-After`", body = IdentityError),
    )
)]
async fn forgot_password(
    app: Data<App>,
    context: RequestContext,
    body: Json<ForgotRequest>,
) -> actix_web::Result<HttpResponse> {
    password_reset::forgot(&app, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Accepted().json(ForgotResponse {
        message: "If the account exists and has an e-mail address, a mail is on its way",
    }))
}

/// Sets a new password with a mailed link and ends all sessions of the account. The address that the mail went to is
/// verified from then on. A link works once, within an hour.
#[utoipa::path(
    post, path = "/api/auth/password/reset", tag = "credentials", request_body = ResetRequest,
    responses(
        (status = 204, description = "The password was changed."),
        (status = 400, description = "`invalid_token`, `validation_failed`, `password_too_long` or `weak_password`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn reset_password(
    app: Data<App>,
    context: RequestContext,
    body: Json<ResetRequest>,
) -> actix_web::Result<HttpResponse> {
    password_reset::reset(&app, body.into_inner()?, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Verifies an e-mail address with a mailed link. A link works once, within a day.
#[utoipa::path(
    post, path = "/api/auth/email/verify", tag = "credentials", request_body = VerifyEmailRequest,
    responses(
        (status = 204, description = "The address was verified."),
        (status = 400, description = "`invalid_token` or `validation_failed`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn verify_email(
    app: Data<App>,
    context: RequestContext,
    body: Json<VerifyEmailRequest>,
) -> actix_web::Result<HttpResponse> {
    email::verify(&app, body.into_inner()?, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Requests another e-mail address. It becomes the account's address once it is verified.
#[utoipa::path(
    post, path = "/api/auth/email/change", tag = "credentials", security(("bearer" = [])), request_body = ChangeEmailRequest,
    responses(
        (status = 204, description = "A link was sent to the address."),
        (status = 400, description = "`validation_failed` or `email_taken`", body = IdentityError),
        (status = 401, description = "`invalid_credentials`, `totp_required`, `authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn change_email(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: Json<ChangeEmailRequest>,
) -> actix_web::Result<HttpResponse> {
    email::change(&app, &caller, body.into_inner()?, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}
