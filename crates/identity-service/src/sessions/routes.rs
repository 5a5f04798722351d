use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, web};
use auth_types::wire::{IdentityError, TokenPair, ValidateResponse};
use service_kit::Problem;
use service_kit::http::{ClientIp, Json, OptionalJson, endpoint};

use super::service;
use super::wire::{LoginRequest, LogoutRequest, LogoutResponse, RefreshRequest, ValidateQuery};
use crate::app::App;
use crate::auth::{self, CurrentUser};
use crate::error::Error;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/login").post(login))
        .service(endpoint("/api/auth/logout").post(logout))
        .service(endpoint("/api/auth/refresh").post(refresh))
        .service(endpoint("/api/auth/validate").get(validate).post(validate));
}

/// Signs in by username, not by e-mail address.
#[utoipa::path(
    post, path = "/api/auth/login", tag = "sessions", request_body = LoginRequest,
    responses(
        (status = 200, description = "A new session", body = TokenPair),
        (status = 400, description = "`validation_failed`", body = IdentityError),
        (status = 401, description = "`invalid_credentials`", body = IdentityError),
        (status = 413, description = "`payload_too_large`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
        (status = 503, description = "`unavailable`; see `Retry-After`", body = IdentityError),
    )
)]
async fn login(
    app: Data<App>,
    address: ClientIp,
    body: Json<LoginRequest>,
) -> actix_web::Result<HttpResponse> {
    let pair = service::login(&app, body.into_inner()?, address.0).await?;
    Ok(HttpResponse::Ok().json(pair))
}

/// Ends the session of the access token, with all tokens that came from it.
#[utoipa::path(
    post, path = "/api/auth/logout", tag = "sessions", security(("bearer" = [])), request_body = Option<LogoutRequest>,
    responses(
        (status = 200, description = "The session is over", body = LogoutResponse),
        (status = 400, description = "`validation_failed`", body = IdentityError),
        (status = 401, description = "`authentication_required`, `invalid_token`, `token_expired` or `token_revoked`", body = IdentityError),
        (status = 413, description = "`payload_too_large`", body = IdentityError),
        (status = 503, description = "`unavailable`; see `Retry-After`", body = IdentityError),
    )
)]
async fn logout(
    app: Data<App>,
    caller: CurrentUser,
    address: ClientIp,
    body: OptionalJson<LogoutRequest>,
) -> actix_web::Result<HttpResponse> {
    let request = body.into_inner()?.unwrap_or_default();
    service::logout(&app, &caller, request.refresh_token.as_deref(), address.0).await?;
    Ok(HttpResponse::Ok().json(LogoutResponse {
        message: "Logged out",
    }))
}

/// Exchanges a refresh token for a new pair. Each is good once; presented again within 30 s, while its
/// successor is unused, it gives the same successor, and later it ends its session.
#[utoipa::path(
    post, path = "/api/auth/refresh", tag = "sessions", request_body = RefreshRequest,
    responses(
        (status = 200, description = "The session goes on", body = TokenPair),
        (status = 400, description = "`validation_failed`", body = IdentityError),
        (status = 401, description = "`invalid_refresh_token` or `refresh_token_reused`", body = IdentityError),
        (status = 413, description = "`payload_too_large`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
        (status = 503, description = "`unavailable`; see `Retry-After`", body = IdentityError),
    )
)]
async fn refresh(
    app: Data<App>,
    address: ClientIp,
    body: Json<RefreshRequest>,
) -> actix_web::Result<HttpResponse> {
    let pair = service::refresh(&app, &body.into_inner()?, address.0).await?;
    Ok(HttpResponse::Ok().json(pair))
}

/// Tells whether an access token is good and whose it is. POST is the same for older clients.
#[utoipa::path(
    method(get, post), path = "/api/auth/validate", tag = "sessions", params(ValidateQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The token is good", body = ValidateResponse),
        (status = 401, description = "`authentication_required`, `invalid_token`, `token_expired` or `token_revoked`, with `valid: false`", body = IdentityError),
        (status = 503, description = "`unavailable`; see `Retry-After`", body = IdentityError),
    )
)]
async fn validate(app: Data<App>, req: HttpRequest) -> actix_web::Result<HttpResponse> {
    let caller = auth::current_user(&req)
        .await
        .map_err(|error| not_valid(&error))?;
    // A query that cannot be read asks for nothing: an older client must not fail over it.
    let query = web::Query::<ValidateQuery>::from_query(req.query_string())
        .map(web::Query::into_inner)
        .unwrap_or_default();
    Ok(HttpResponse::Ok().json(service::validate(&app, &caller, query.wants_teams()).await?))
}

/// The contract's `valid` field: only these errors carry it.
fn not_valid(error: &Error) -> Problem {
    let problem = Problem::from(error);
    if error.is_unauthorized() {
        problem.with("valid", false)
    } else {
        problem
    }
}
