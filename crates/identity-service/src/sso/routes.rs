use actix_web::http::header::{AUTHORIZATION, HeaderValue, LOCATION, REFERRER_POLICY};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{FromRequest as _, HttpRequest, HttpResponse, ResponseError as _};
use auth_types::wire::{IdentityError, TokenPair};
use service_kit::http::{Query, endpoint};
use url::form_urlencoded;

use super::service;
use super::wire::{AuthorizeQuery, CallbackQuery, CallbackResponse};
use crate::allowed_origins::NotAllowed;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::pages::visitor::{Visitor, sign_in_path};
use crate::pages::wants_page;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/sso/authorize").get(authorize))
        .service(endpoint("/api/auth/sso/token").post(token))
        .service(endpoint("/api/auth/sso/callback").get(callback));
}

/// Hands a sign-in over to another site, with a token in the address. The caller is known by a bearer token or by the
/// cookie of the sign-in page. A browser without either goes to the sign-in page first.
#[utoipa::path(
    get, path = "/api/auth/sso/authorize", operation_id = "authorizeSso", tag = "sso", params(AuthorizeQuery), security((), ("bearer" = [])),
    responses(
        (status = 302, description = "`Location` is `redirect_uri` with `token`, `access_token`, `user_id`, `username` and, if the account has a photo, `profile_photo_url` and `has_profile_photo`; or it is the sign-in page"),
        (status = 400, description = "`redirect_not_allowed` or `validation_failed`", body = IdentityError),
        (status = 401, description = "`authentication_required` if `Accept` contains application/json and not text/html; `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 403, description = "`insufficient_scope`: the bearer token belongs to an OAuth client or an SSO session", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn authorize(app: Data<App>, req: HttpRequest, context: RequestContext) -> HttpResponse {
    let mut answer = match send(&app, &req, &context).await {
        Ok(location) => HttpResponse::Found()
            .insert_header((LOCATION, location))
            .finish(),
        Err(error) => error.error_response(),
    };
    let no_referrer = HeaderValue::from_static("no-referrer");
    answer.headers_mut().insert(REFERRER_POLICY, no_referrer);
    answer
}

/// Returns the address to which the browser goes.
async fn send(app: &App, req: &HttpRequest, context: &RequestContext) -> Result<String, Error> {
    let query = req.query_string();
    let mut named = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "service");
    let (service, again) = (named.next(), named.next());
    if again.is_some() {
        return Err(Error::Validation(
            "The parameter service is given twice".into(),
        ));
    }
    let target = app
        .redirects
        .check(query)
        .map_err(|NotAllowed| Error::HandOverNotAllowed)?;
    let Some(caller) = caller(req).await? else {
        if !wants_page(req) {
            return Err(Error::AuthenticationRequired);
        }
        return Ok(sign_in_path(&format!("{}?{query}", req.path())));
    };
    if req.method() == Method::HEAD {
        // A HEAD request opens no session.
        return Ok(target.into());
    }
    let service = service.as_ref().map(|(_, text)| text.as_ref());
    let target = service::open_sso_session(app, &caller, target, service, context).await?;
    Ok(target.into())
}

/// Identifies the caller by the bearer token, or without one by the cookie.
async fn caller(req: &HttpRequest) -> Result<Option<CurrentUser>, Error> {
    if req.headers().contains_key(AUTHORIZATION) {
        return CurrentUser::extract(req).await.map(Some);
    }
    Ok(Visitor::load(req).await?.user)
}

/// Opens a new session for the caller, and returns its tokens.
#[utoipa::path(
    post, path = "/api/auth/sso/token", operation_id = "createSsoToken", tag = "sso", security(("bearer" = [])),
    responses(
        (status = 200, description = "The tokens of the new session, which is an SSO session if an SSO session opened it", body = TokenPair),
        (status = 403, description = "`insufficient_scope`: the token belongs to an OAuth client", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn token(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
) -> Result<HttpResponse, Error> {
    Ok(HttpResponse::Ok().json(service::exchange(&app, &caller, &context).await?))
}

/// Checks whether the parameters with which a mini-app was called are genuine.
#[utoipa::path(
    get, path = "/api/auth/sso/callback", operation_id = "verifySsoCallback", tag = "sso", params(CallbackQuery),
    responses(
        (status = 200, description = "The token is valid, belongs to the account that the other parameters name, and was handed over to the origin that they name.", body = CallbackResponse),
        (status = 401, description = "`invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
    )
)]
async fn callback(
    app: Data<App>,
    Query(query): Query<CallbackQuery>,
) -> Result<HttpResponse, Error> {
    Ok(HttpResponse::build(StatusCode::OK).json(service::check(&app, query).await?))
}
