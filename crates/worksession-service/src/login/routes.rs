use actix_web::http::header::{CONTENT_TYPE, USER_AGENT};
use actix_web::{HttpRequest, HttpResponse, web};
use auth_types::wire::TokenPair;
use service_kit::http::{ClientIp, Json, RequestId, endpoint};

use super::service;
use super::wire::LoginRequest;
use crate::app_state::State;
use crate::auth::SignInOrigin;
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/login").post(login));
}

/// Signs in at the identity service and returns its tokens, which both services accept.
#[utoipa::path(
    post, path = "/api/login", operation_id = "signIn", tag = "login", request_body = LoginRequest,
    responses(
        (status = 200, description = "The tokens of a new session, as the identity service returned them", body = TokenPair),
        (status = 401, description = "Invalid credentials, or TOTP code required if only the code is missing", body = ErrorBody),
        (status = 429, description = "Too many requests; see Retry-After", body = ErrorBody),
        (status = 503, description = "Authentication service unavailable; see Retry-After", body = ErrorBody),
    )
)]
pub(crate) async fn login(
    state: State,
    request: HttpRequest,
    address: ClientIp,
    request_id: RequestId,
    body: Json<LoginRequest>,
) -> Result<HttpResponse, Error> {
    let user_agent = request.headers().get(USER_AGENT);
    let origin = SignInOrigin {
        address: address.0,
        user_agent: user_agent.map(|value| value.as_bytes().to_vec()),
        request_id,
    };
    let tokens = service::login(&state, body.into_inner()?, &origin).await?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(tokens))
}
