use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CACHE_CONTROL, ContentType,
};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use auth_types::wire::IdentityError;
use service_kit::http::endpoint;

use super::clients::service::{authenticate, authenticate_known};
use super::cors;
use super::error::OAuthError;
use super::form::{OAuthForm, is_form};
use super::introspection::{self, IntrospectionResponse};
use super::metadata::{self, MetadataResponse};
use super::revocation;
use super::userinfo::{self, UserinfoResponse};
use super::wire::{IntrospectionRequest, RevocationRequest};
use crate::app::App;
use crate::auth::{self, CurrentUser};
use crate::error::Error;
use crate::request_context::RequestContext;

/// Registers introspection on its own: other services call it all the time, so its path is tried early.
pub(crate) fn introspection_routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/oauth/introspect").post(introspect));
}

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    super::authorize::routes::routes(cfg);
    super::clients::routes::routes(cfg);
    super::consents::routes::routes(cfg);
    super::devices::pages::routes(cfg);
    super::devices::routes::routes(cfg);
    super::logout::routes::routes(cfg);
    super::token::routes::routes(cfg);
    cfg.service(endpoint("/.well-known/openid-configuration").get(openid_configuration))
        .service(endpoint("/.well-known/oauth-authorization-server").get(oauth_metadata))
        .service(endpoint("/api/oauth/revoke").post(revoke))
        .service(
            endpoint("/api/oauth/userinfo")
                .get(get_userinfo)
                .post(post_userinfo),
        );
}

/// Returns the metadata of this OpenID provider (OpenID Connect Discovery).
#[utoipa::path(
    get, path = "/.well-known/openid-configuration", operation_id = "getOpenidConfiguration", tag = "oauth",
    responses((status = 200, description = "The metadata, which may be cached for 5 minutes", body = MetadataResponse))
)]
async fn openid_configuration(app: Data<App>) -> HttpResponse {
    published(&app)
}

/// Returns the metadata of this authorization server (RFC 8414), the same document as for OpenID Connect Discovery.
#[utoipa::path(
    get, path = "/.well-known/oauth-authorization-server", operation_id = "getOauthMetadata", tag = "oauth",
    responses((status = 200, description = "The metadata, which may be cached for 5 minutes", body = MetadataResponse))
)]
async fn oauth_metadata(app: Data<App>) -> HttpResponse {
    published(&app)
}

fn published(app: &App) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "public, max-age=300"))
        // Pages of any origin that sign users in read the metadata.
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .json(metadata::metadata(app))
}

/// Returns the state of a token (RFC 7662). The client authenticates with its secret. It may ask about its own tokens, or
/// about every token if it is registered for that.
#[utoipa::path(
    post, path = "/api/oauth/introspect", operation_id = "introspectToken", tag = "oauth",
    request_body(content = IntrospectionRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The state of the token; `{\"active\": false}` if it is not valid, or if the client may not introspect it", body = IntrospectionResponse),
        (status = 400, description = "`invalid_request`", body = IdentityError),
        (status = 401, description = "`invalid_client`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn introspect(
    app: Data<App>,
    req: HttpRequest,
    form: OAuthForm,
    context: RequestContext,
) -> Result<HttpResponse, OAuthError> {
    let client = authenticate_known(&app, req.headers(), &form, &context).await?;
    if client.is_public() {
        // Section 2.1: without authentication, anybody could scan for valid tokens.
        return Err(OAuthError::InvalidClient);
    }
    let body = introspection::introspect(&app, &client, form.require("token")?).await?;
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(body))
}

/// Revokes an access or refresh token (RFC 7009): its session ends, with all of its tokens.
#[utoipa::path(
    post, path = "/api/oauth/revoke", operation_id = "revokeToken", tag = "oauth",
    request_body(content = RevocationRequest, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The token was revoked, or was not valid."),
        (status = 400, description = "`invalid_request`, or `invalid_grant` if the token was issued to another client", body = IdentityError),
        (status = 401, description = "`invalid_client`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn revoke(
    app: Data<App>,
    req: HttpRequest,
    form: OAuthForm,
    context: RequestContext,
) -> Result<HttpResponse, OAuthError> {
    let client = authenticate(&app, req.headers(), &form, &context).await?;
    cors::allow_origin_of(&client, &req);
    revocation::revoke(&app, &client, form.require("token")?, &context).await?;
    Ok(HttpResponse::Ok().finish())
}

/// Returns claims about the account of the access token (OpenID Connect Core section 5.3). Clients need the scope `openid`.
#[utoipa::path(
    get, path = "/api/oauth/userinfo", tag = "oauth", security(("bearer" = [])),
    responses(
        (status = 200, description = "The claims that the token's scopes allow", body = UserinfoResponse),
        (status = 401, description = "`authentication_required` or `invalid_token`", body = IdentityError),
        (status = 403, description = "`insufficient_scope`", body = IdentityError),
    )
)]
async fn get_userinfo(
    app: Data<App>,
    req: HttpRequest,
    caller: Result<CurrentUser, Error>,
) -> actix_web::Result<HttpResponse> {
    match caller {
        Ok(caller) => Ok(HttpResponse::Ok().json(userinfo::userinfo(&app, &req, &caller).await?)),
        Err(error) => userinfo::refused(error),
    }
}

/// Returns the same claims as GET. Instead of the header, the access token may be the field `access_token` of a form (RFC 6750
/// section 2.2).
#[utoipa::path(
    post, path = "/api/oauth/userinfo", tag = "oauth", security(("bearer" = [])),
    responses(
        (status = 200, description = "The claims that the token's scopes allow", body = UserinfoResponse),
        (status = 400, description = "`invalid_request`: the header and the body have a token, or the body has two", body = IdentityError),
        (status = 401, description = "`authentication_required` or `invalid_token`", body = IdentityError),
        (status = 403, description = "`insufficient_scope`", body = IdentityError),
    )
)]
async fn post_userinfo(
    app: Data<App>,
    req: HttpRequest,
    form: Result<OAuthForm, OAuthError>,
) -> actix_web::Result<HttpResponse> {
    let form = match form {
        Err(error) if is_form(req.headers()) => return Err(error.into()),
        form => form.ok(),
    };
    let caller = match form.as_ref().and_then(|form| form.get("access_token")) {
        Some(_) if req.headers().contains_key(AUTHORIZATION) => {
            let why = "The access token is in the header and in the body";
            return Err(OAuthError::invalid_request(why).into());
        }
        Some(token) => auth::current_user_of_token(&req, token).await,
        None => auth::current_user(&req).await,
    };
    get_userinfo(app, req, caller).await
}
