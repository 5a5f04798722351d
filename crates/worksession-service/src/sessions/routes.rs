use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use service_kit::Problem;
use service_kit::http::{Json, Path, RequestId, endpoint};

use super::start::{self, StartOrder};
use super::submit;
use super::wire::{
    PreSessionResponse, StartRequest, StartResponse, StartResponses, SubmitRequest, SubmitResponse,
};
use super::{edit, export, history, model, queries};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead, SessionsWrite};
use crate::error::{Error, ErrorBody};

/// The longest `Idempotency-Key`, in visible characters.
const KEY_CHARS: usize = 255;

/// What every handler of a start reads from its request.
type StartArguments = (
    State,
    Caller<SessionsWrite>,
    HttpRequest,
    RequestId,
    Json<StartRequest>,
);

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config
        .service(endpoint("/api/clienta_timer_start").post(start_client_a))
        .service(endpoint("/api/clientb_timer_start").post(start_client_b))
        .service(endpoint("/api/session/start").post(start_session))
        .service(endpoint("/api/pomodoro/submit").post(submit))
        .service(endpoint("/api/get_presession/{session_id}").get(get_presession))
        .service(endpoint("/api/sessions").get(history::routes::list))
        .service(endpoint("/api/sessions/export").get(export::routes::export))
        .service(
            endpoint("/api/sessions/{id}")
                .get(history::routes::get)
                .patch(edit::routes::edit),
        );
}

/// Starts the timer of desktop client A: locks the plan, and ends the session that ran before.
#[utoipa::path(
    post, path = "/api/clienta_timer_start", operation_id = "startSessionInClientA", tag = "sessions", request_body = StartRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key within 24 hours returns the same session")),
    security(("bearer" = ["sessions:write"])),
    responses(StartResponses)
)]
pub(crate) async fn start_client_a(arguments: StartArguments) -> Result<HttpResponse, Error> {
    start("client_a", arguments).await
}

/// Starts the timer of desktop client B, exactly as for client A.
#[utoipa::path(
    post, path = "/api/clientb_timer_start", operation_id = "startSessionInClientB", tag = "sessions", request_body = StartRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key within 24 hours returns the same session")),
    security(("bearer" = ["sessions:write"])),
    responses(StartResponses)
)]
pub(crate) async fn start_client_b(arguments: StartArguments) -> Result<HttpResponse, Error> {
    start("client_b", arguments).await
}

/// Starts the timer of any other client, exactly as for client A.
#[utoipa::path(
    post, path = "/api/session/start", tag = "sessions", request_body = StartRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key within 24 hours returns the same session")),
    security(("bearer" = ["sessions:write"])),
    responses(StartResponses)
)]
pub(crate) async fn start_session(arguments: StartArguments) -> Result<HttpResponse, Error> {
    start("session", arguments).await
}

/// Returns the plan and the status of one of the caller's sessions.
#[utoipa::path(
    get, path = "/api/get_presession/{session_id}", tag = "sessions", params(("session_id" = String, Path)),
    security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "The plan and status of the session", body = PreSessionResponse),
        (status = 404, description = "Session not found", body = ErrorBody),
    )
)]
pub(crate) async fn get_presession(
    state: State,
    caller: Caller<SessionsRead>,
    path: Result<Path<(String,)>, Problem>,
) -> Result<web::Json<PreSessionResponse>, Error> {
    let id = model::parse_session_id(&model::parse_path_id(path)?)?;
    let user = caller.id;
    let row = state.read(move |db| queries::find(db, user, &id)).await?;
    Ok(web::Json(PreSessionResponse::from(
        &row.ok_or(Error::SessionNotFound)?,
    )))
}

/// Submits a session, which is credited once, by the server's clock.
#[utoipa::path(
    post, path = "/api/pomodoro/submit", operation_id = "submitSession", tag = "sessions", request_body = SubmitRequest,
    security(("bearer" = ["sessions:write"])),
    responses(
        (status = 200, description = "The session was submitted, now or before with the same values.", body = SubmitResponse),
        (status = 404, description = "Session not found, or Project not found", body = ErrorBody),
        (status = 409, description = "No open session matches, or Session already submitted", body = ErrorBody),
        (status = 422, description = "Locked fields differ from the plan", body = ErrorBody),
    )
)]
pub(crate) async fn submit(
    state: State,
    caller: Caller<SessionsWrite>,
    request_id: RequestId,
    body: Json<SubmitRequest>,
) -> Result<HttpResponse, Error> {
    let submission = body.into_inner()?.try_into()?;
    let stored = submit::submit(&state, caller.id, submission, request_id).await?;
    // The stored text itself: a repeated submit gets the same bytes.
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(stored))
}

async fn start(
    client: &'static str,
    (state, caller, request, request_id, body): StartArguments,
) -> Result<HttpResponse, Error> {
    let plan = body.into_inner()?.try_into()?;
    let order = StartOrder {
        plan,
        client,
        idempotency_key: idempotency_key(request.headers())?,
        request_id,
    };
    let started = start::start(&state, caller.into(), order).await?;
    let status = match started.is_new {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok(HttpResponse::build(status).json(StartResponse::from(&started.row)))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Error> {
    let mut values = headers.get_all("idempotency-key");
    let (Some(value), another) = (values.next(), values.next()) else {
        return Ok(None);
    };
    let key = value
        .to_str()
        .ok()
        .filter(|key| (1..=KEY_CHARS).contains(&key.len()) && another.is_none())
        .filter(|key| !key.contains('\t'));
    let key =
        key.ok_or_else(|| Error::invalid("Idempotency-Key must have 1 to 255 visible characters"))?;
    Ok(Some(key.to_owned()))
}
