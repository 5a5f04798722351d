use actix_web::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use auth_types::bearer_token;
use serde::Serialize;
use service_kit::Problem;
use service_kit::http::{RequestId, endpoint};
use utoipa::ToSchema;

use super::frame::{self, LastEventId};
use super::stream::{self, StreamRequest};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead};
use crate::error::{Error, ErrorBody};

const LAST_EVENT_ID: &str = "last-event-id";

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/events").get(get));
}

/// An event of the stream, as a client parses it.
#[derive(Serialize, ToSchema)]
struct LiveEvent {
    event: String,
    /// A JSON object.
    data: String,
    /// The position to resume from; absent in the last event.
    id: Option<String>,
}

/// Streams changes of the caller and, with the scope `teams`, of the caller's teams as server-sent events: `hello`, `timer`,
/// `points`, `team`, `reset` and `end`.
#[utoipa::path(
    get, path = "/api/events", operation_id = "streamEvents", tag = "live", security(("bearer" = ["sessions:read"])),
    params(("Last-Event-ID" = Option<String>, Header, description = "The id of the last received event, to resume the stream after it")),
    responses(
        (status = 200, description = "Events until the stream ends; see docs/live.md", content_type = "text/event-stream", body = LiveEvent),
        (status = 406, description = "The client does not accept text/event-stream", body = ErrorBody),
        (status = 429, description = "Too many event streams of this user are open; see Retry-After", body = ErrorBody),
        (status = 503, description = "Authentication service unavailable, or Too many event streams are open", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    request: HttpRequest,
    request_id: RequestId,
) -> Result<HttpResponse, Error> {
    if !accepts_events(&request) {
        return Err(not_acceptable().into());
    }
    let mut response = HttpResponse::Ok();
    response
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        // A proxy that buffers responses would hold the events back.
        .insert_header(("x-accel-buffering", "no"));
    if request.method() == Method::HEAD {
        return Ok(response.finish());
    }
    if state.streams.is_stopping() {
        return Ok(response.body(frame::shutdown()));
    }
    let stream = StreamRequest {
        token: token(&request)?.to_owned(),
        last: LastEventId::parse(request.headers().get(LAST_EVENT_ID).map(|id| id.as_bytes())),
        user: caller.into(),
        request_id,
    };
    Ok(response.streaming(stream::open(state, stream).await?))
}

/// Returns the token that authenticated the caller.
fn token(request: &HttpRequest) -> Result<&str, Error> {
    let headers = request.headers().get_all(AUTHORIZATION);
    bearer_token(headers.map(|value| value.as_bytes())).map_err(|_| Error::AuthenticationRequired)
}

/// Whether the client accepts a stream. A crawler that expects JSON would wait for its end forever.
fn accepts_events(request: &HttpRequest) -> bool {
    let mut accepted = request.headers().get_all(ACCEPT).peekable();
    accepted.peek().is_none()
        || accepted.any(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            ["text/event-stream", "text/*", "*/*"]
                .iter()
                .any(|kind| value.contains(kind))
        })
}

fn not_acceptable() -> Problem {
    Problem::new(
        StatusCode::NOT_ACCEPTABLE,
        "not_acceptable",
        "To read this event stream, accept text/event-stream",
    )
}
