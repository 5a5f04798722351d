//! The event stream of the work-session service with the dashboard's cookie: a browser's `EventSource` sends no token.

use actix_web::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use messages::t;
use serde::Deserialize;
use service_kit::Problem;
use service_kit::http::Query;
use web_kit::form::check_site;

use crate::api::{ApiError, chunks};
use crate::visitor::{SignInState, Visitor};

/// The position from which a page continues that is old or was hidden: it cannot send `Last-Event-ID`.
#[derive(Deserialize)]
pub(crate) struct LiveQuery {
    after: Option<String>,
}

/// Forwards the events of the work-session service as they arrive, until either side ends the stream.
pub(crate) async fn live(
    visitor: Visitor,
    query: Query<LiveQuery>,
    req: HttpRequest,
) -> actix_web::Result<HttpResponse> {
    check_site(req.headers())?;
    let accept = req
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    if !accept.is_some_and(|accept| accept.contains("text/event-stream")) {
        return Err(Problem::bad_request(t("dashboard-event-stream").to_string()).into());
    }
    let SignInState::SignedIn(user) = visitor.check_sign_in().await? else {
        return Ok(nothing_more());
    };
    let last = req.headers().get("last-event-id");
    let last = last.map(|id| id.as_bytes());
    let after = query.0.after.as_deref().map(str::as_bytes);
    let is_place = |id: &&[u8]| id.iter().all(u8::is_ascii_digit);
    let last = last.or(after).filter(is_place);
    let stream = user.call().stream("/api/events", last);
    let source = match stream.await {
        Ok(source) => source,
        Err(ApiError::SignedOut) => return Ok(nothing_more()),
        Err(error) => return Ok(user.add_cookies(Problem::from(error).error_response())),
    };
    let answer = HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-store"))
        // A proxy that buffers responses would hold the events back.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(chunks(source));
    Ok(user.add_cookies(answer))
}

/// Returns the response that keeps an `EventSource` from reconnecting (204).
fn nothing_more() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
