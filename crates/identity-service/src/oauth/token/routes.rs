use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use auth_types::wire::IdentityError;
use service_kit::http::endpoint;

use super::service;
use super::wire::{TokenRequest, TokenResponse};
use crate::app::App;
use crate::oauth::clients;
use crate::oauth::cors;
use crate::oauth::error::OAuthError;
use crate::oauth::form::OAuthForm;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/oauth/token").post(token));
}

/// Exchanges an authorization code, a refresh token or the device code of an approved device for tokens. Each works once.
/// An authorization code that is presented again ends the session that it opened.
#[utoipa::path(
    post, path = "/api/oauth/token", operation_id = "requestToken", tag = "oauth", security(("client" = [])),
    request_body(content = TokenRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The tokens", body = TokenResponse),
        (status = 400, description = "`invalid_request`, `invalid_grant`, `invalid_scope`, `unauthorized_client`, `unsupported_grant_type`; for devices `authorization_pending`, `slow_down`, `access_denied` or `expired_token`", body = IdentityError),
        (status = 401, description = "`invalid_client`", body = IdentityError),
        (status = 413, description = "`payload_too_large`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn token(
    app: Data<App>,
    context: RequestContext,
    form: OAuthForm,
    req: HttpRequest,
) -> Result<HttpResponse, OAuthError> {
    let client = clients::service::authenticate(&app, req.headers(), &form, &context).await?;
    cors::allow_origin_of(&client, &req);
    let tokens = service::exchange(&app, &client, &form, &context).await?;
    Ok(HttpResponse::Ok().json(tokens))
}
