use actix_web::http::Method;
use actix_web::http::header::{ContentType, HeaderValue, LOCATION, REFERRER_POLICY};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use auth_types::wire::{IdentityError, TokenPair, ValidateResponse};
use service_kit::Problem;
use service_kit::http::{Json, OptionalJson, Path, Query, endpoint};

use super::wire::{
    LoginRequest, LogoutRequest, LogoutResponse, RefreshRequest, SessionsQuery, SessionsResponse,
    ValidateQuery,
};
use super::{list, login, refresh, revocation, validation};
use crate::allowed_origins::NotAllowed;
use crate::app::App;
use crate::auth::{self, CurrentUser};
use crate::error::Error;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/validate").get(validate).post(validate))
        .service(endpoint("/api/auth/login").post(sign_in))
        .service(endpoint("/api/auth/logout").post(logout))
        .service(endpoint("/api/auth/global-logout").get(global_logout))
        .service(
            endpoint("/api/auth/sessions")
                .get(list_sessions)
                .delete(end_others),
        )
        .service(endpoint("/api/auth/refresh").post(rotate))
        .service(endpoint("/api/auth/sessions/{session_id}").delete(end_session));
}

/// Signs in with a username and password. An e-mail address is not accepted.
#[utoipa::path(
    post, path = "/api/auth/login", tag = "sessions", request_body = LoginRequest,
    responses(
        (status = 200, description = "The tokens of the new session", body = TokenPair),
        (status = 401, description = "`invalid_credentials`, or `totp_required` if only `totp_code` is missing", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn sign_in(
    app: Data<App>,
    context: RequestContext,
    body: Json<LoginRequest>,
) -> actix_web::Result<HttpResponse> {
    let pair = login::login(&app, body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(pair))
}

/// Ends the session of the access token, with all its tokens.
#[utoipa::path(
    post, path = "/api/auth/logout", tag = "sessions", security(("bearer" = [])), request_body = Option<LogoutRequest>,
    responses(
        (status = 200, description = "The session was ended.", body = LogoutResponse),
    )
)]
async fn logout(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    body: OptionalJson<LogoutRequest>,
) -> actix_web::Result<HttpResponse> {
    let request = body.into_inner()?.unwrap_or_default();
    revocation::logout(&app, &caller, request.refresh_token.as_deref(), &context).await?;
    Ok(HttpResponse::Ok().json(LogoutResponse {
        message: "Logged out",
    }))
}

/// Ends all sessions of the caller, then redirects the browser if the target's origin is on the allow-list.
#[utoipa::path(
    get, path = "/api/auth/global-logout", operation_id = "endAllSessions", tag = "sessions", security(("bearer" = [])),
    params(("redirect_uri" = String, Query, description = "A URL whose origin is on the allow-list; exactly once")),
    responses(
        (status = 302, description = "The sessions were ended. `Location` is the normalized `redirect_uri`."),
        (status = 400, description = "`redirect_not_allowed`; the sessions were ended nevertheless", body = IdentityError),
    )
)]
async fn global_logout(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    req: HttpRequest,
) -> Result<HttpResponse, Error> {
    // HEAD gets the same response and changes nothing (RFC 9110 section 9.2.1).
    if req.method() != Method::HEAD {
        revocation::end_many(&app, &caller, false, &context).await?;
    }
    let mut answer = match app.redirects.check(req.query_string()) {
        Ok(target) => HttpResponse::Found()
            .insert_header((LOCATION, target.as_str()))
            .finish(),
        Err(NotAllowed) => Error::RedirectNotAllowed.error_response(),
    };
    let no_referrer = HeaderValue::from_static("no-referrer");
    answer.headers_mut().insert(REFERRER_POLICY, no_referrer);
    Ok(answer)
}

/// Lists the caller's live sessions, newest first.
#[utoipa::path(
    get, path = "/api/auth/sessions", tag = "sessions", security(("bearer" = [])), params(SessionsQuery),
    responses(
        (status = 200, description = "A page of the sessions", body = SessionsResponse),
        (status = 400, description = "`validation_failed`", body = IdentityError),
    )
)]
async fn list_sessions(
    app: Data<App>,
    caller: CurrentUser,
    page: Result<Query<SessionsQuery>, Problem>,
) -> actix_web::Result<HttpResponse> {
    Ok(HttpResponse::Ok().json(list::list_sessions(&app, &caller, page?.0).await?))
}

/// Ends all sessions of the caller except the current one.
#[utoipa::path(
    delete, path = "/api/auth/sessions", operation_id = "endOtherSessions", tag = "sessions", security(("bearer" = [])),
    responses(
        (status = 204, description = "The other sessions were ended."),
    )
)]
async fn end_others(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
) -> Result<HttpResponse, Error> {
    revocation::end_many(&app, &caller, true, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Ends one session of the caller, which may be the current one.
#[utoipa::path(
    delete, path = "/api/auth/sessions/{session_id}", tag = "sessions", security(("bearer" = [])),
    params(("session_id" = String, Path, description = "The id from the list of sessions")),
    responses(
        (status = 204, description = "The session was ended."),
        (status = 404, description = "`not_found`: the session is unknown, has ended, or belongs to another account", body = IdentityError),
    )
)]
async fn end_session(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    session_id: Result<Path<(String,)>, Problem>,
) -> Result<HttpResponse, Error> {
    let Path((session_id,)) = session_id.map_err(|_| Error::SessionNotFound)?;
    revocation::end_session(&app, &caller, session_id, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Exchanges a refresh token for a new token pair.
///
/// A token works once. Presented again within 30 seconds, while its successor is unused, it returns the same
/// successor. Any later reuse ends the session.
#[utoipa::path(
    post, path = "/api/auth/refresh", operation_id = "refreshTokens", tag = "sessions", request_body = RefreshRequest,
    responses(
        (status = 200, description = "The new token pair", body = TokenPair),
        (status = 401, description = "`invalid_refresh_token` or `refresh_token_reused`", body = IdentityError),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn rotate(
    app: Data<App>,
    context: RequestContext,
    body: Json<RefreshRequest>,
) -> actix_web::Result<HttpResponse> {
    let pair = refresh::refresh(&app, &body.into_inner()?, &context).await?;
    Ok(HttpResponse::Ok().json(pair))
}

/// Checks whether an access token is valid, and returns its account. POST does the same, for older clients.
#[utoipa::path(
    method(get, post), path = "/api/auth/validate", operation_id = "validateToken", tag = "sessions", params(ValidateQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The token is valid.", body = ValidateResponse),
        (status = 401, description = "`authentication_required`, `invalid_token`, `token_expired` or `token_revoked`, with `valid: false`", body = IdentityError),
    )
)]
async fn validate(app: Data<App>, req: HttpRequest) -> actix_web::Result<HttpResponse> {
    let query = Query::<ValidateQuery>::read(req.query_string());
    let query = query.map_err(|problem| problem.with("valid", false))?.0;
    let response =
        async { validation::validate(&app, auth::bearer(&req)?, query.wants_teams()).await };
    let body = response.await.map_err(|error| not_valid(&error))?;
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(body))
}

/// Adds `valid: false`, which the contract requires for authentication errors only.
fn not_valid(error: &Error) -> Problem {
    let problem = Problem::from(error);
    if error.is_unauthorized() {
        problem.with("valid", false)
    } else {
        problem
    }
}
