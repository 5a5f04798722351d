use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use auth_types::wire::IdentityError;
use service_kit::http::endpoint;

use super::service;
use super::wire::{DeviceAuthorizationRequest, DeviceAuthorizationResponse};
use crate::app::App;
use crate::oauth::clients;
use crate::oauth::error::OAuthError;
use crate::oauth::form::OAuthForm;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/oauth/device_authorization").post(begin));
}

/// Starts a device authorization (RFC 8628). The device shows one code, and polls the token endpoint with the other.
#[utoipa::path(
    post, path = "/api/oauth/device_authorization", operation_id = "authorizeDevice", tag = "oauth", security(("client" = [])),
    request_body(content = DeviceAuthorizationRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The device code and the user code", body = DeviceAuthorizationResponse),
        (status = 400, description = "`invalid_request`, `invalid_scope` or `unauthorized_client`", body = IdentityError),
        (status = 401, description = "`invalid_client`", body = IdentityError),
        (status = 413, description = "`payload_too_large`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn begin(
    app: Data<App>,
    context: RequestContext,
    form: OAuthForm,
    req: HttpRequest,
) -> Result<HttpResponse, OAuthError> {
    let client = clients::service::authenticate(&app, req.headers(), &form, &context).await?;
    let begun = service::begin(&app, &client, form.get("scope"), &context).await?;
    Ok(HttpResponse::Ok().json(begun))
}
