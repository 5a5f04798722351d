//! Which pages of other origins may call the API (the CORS protocol, Fetch standard section 3.3). No response allows credentials:
//! pages send tokens, never cookies.

use actix_cors::Cors;
use actix_web::dev::ServiceResponse;
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use futures_util::future::LocalBoxFuture;

/// Decides whether pages of an origin may call the path of a request, although the origin is not configured.
pub type OriginRule = for<'a> fn(&'a HttpRequest, origin: &'a str) -> LocalBoxFuture<'a, bool>;

/// A handler inserts this into the extensions of a request if pages of the request's origin may read its successful response.
/// Under an [`OriginRule`], they can otherwise read only errors.
#[derive(Debug, Clone, Copy)]
pub struct OriginMayRead;

/// Returns the only origin of a request if the rule allows it.
pub(super) async fn allowed_by(rule: Option<OriginRule>, req: &HttpRequest) -> Option<HeaderValue> {
    let rule = rule?;
    let origin = origin(req)?;
    rule(req, origin.to_str().ok()?)
        .await
        .then(|| origin.clone())
}

/// Returns the header `Origin` of a request that has exactly one.
#[must_use]
pub fn origin(req: &HttpRequest) -> Option<&HeaderValue> {
    let mut origins = req.headers().get_all(header::ORIGIN);
    origins.next().filter(|_| origins.next().is_none())
}

pub(super) fn is_preflight(req: &HttpRequest) -> bool {
    let names_method = req
        .headers()
        .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    req.method() == Method::OPTIONS && names_method
}

/// Answers a preflight request. Pages may send tokens and forms.
pub(super) fn preflight(req: &HttpRequest) -> HttpResponse {
    req.extensions_mut().insert(OriginMayRead);
    HttpResponse::build(StatusCode::NO_CONTENT)
        .insert_header((header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"))
        .insert_header((
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type",
        ))
        .insert_header((header::ACCESS_CONTROL_MAX_AGE, "3600"))
        .finish()
}

/// Lets pages of the origin read the response: an error, or a success that the handler allows.
pub(super) fn set_headers<B>(response: &mut ServiceResponse<B>, origin: HeaderValue) {
    let allowed = response.request().extensions().contains::<OriginMayRead>();
    let may_read = allowed || !response.status().is_success();
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if may_read {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = HeaderValue::from_static("Retry-After, WWW-Authenticate, X-Request-Id");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// Allows the configured origins to call every path.
pub(super) fn listed(origins: &[String]) -> Cors {
    origins
        .iter()
        .fold(Cors::default(), |cors, origin| cors.allowed_origin(origin))
        .allowed_methods(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
        .allowed_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::HeaderName::from_static("idempotency-key"),
            header::HeaderName::from_static("last-event-id"),
        ])
        .allowed_header(header::HeaderName::from_static("x-request-id"))
        .expose_headers([
            header::RETRY_AFTER,
            header::HeaderName::from_static("x-request-id"),
        ])
        .max_age(3600)
}
