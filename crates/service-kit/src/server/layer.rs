use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{ConnectionType, StatusCode, Version};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{HttpMessage, HttpResponse};
use futures_util::FutureExt;

use super::{Shared, cors};
use crate::Problem;
use crate::http::RequestId;

/// The label of requests that match no route.
const UNMATCHED: &str = "unmatched";

/// Wraps every request, as the outermost layer.
pub(super) async fn outermost<B: MessageBody + 'static>(
    mut req: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, actix_web::Error> {
    let started = Instant::now();
    let shared = req.app_data::<Data<Shared>>().cloned();
    let Some(shared) = shared else {
        return next
            .call(req)
            .await
            .map(ServiceResponse::map_into_left_body);
    };
    if !shared.base_path.is_empty() {
        shared.base_path.enter(&mut req);
    }
    let id = RequestId::from_headers(req.headers());
    req.extensions_mut().insert(id.clone());
    let origin = cors::allowed_by(shared.origin_rule, req.request()).await;
    let mut response = if header_bytes(req.headers()) > shared.limits.header_bytes {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        let problem = Problem::new(
            status,
            "headers_too_large",
            "The request's headers are too large",
        );
        req.into_response(problem.render(shared.render))
            .map_into_right_body()
    } else if origin.is_some() && cors::is_preflight(req.request()) {
        // The layer of the configured origins would refuse it.
        let response = cors::preflight(req.request());
        req.into_response(response).map_into_right_body()
    } else {
        let answer = AssertUnwindSafe(next.call(req)).catch_unwind();
        let (answer, statements) = db_kit::counted(answer).await;
        match answer {
            Ok(Ok(response)) => {
                asked_database(&response, statements, &shared);
                in_area_shape(response, &id, &shared)
            }
            // Errors of inner layers, such as CORS.
            Ok(Err(error)) => return Err(refusal(&error.error_response(), &id, &shared)),
            Err(_) => {
                log::error!(request_id:% = id; "a handler panicked");
                let response = HttpResponse::new(StatusCode::INTERNAL_SERVER_ERROR);
                return Err(refusal(&response, &id, &shared));
            }
        }
    };
    if let Some(origin) = origin {
        cors::set_headers(&mut response, origin);
    }
    if response.request().path().starts_with("/docs") {
        protect_docs(response.headers_mut());
    }
    if !shared.base_path.is_empty() {
        response = shared.base_path.leave(response);
    }
    let is_api = response.request().path().starts_with("/api/");
    set_headers(response.response_mut(), &id, is_api, &shared);
    if response.request().version() < Version::HTTP_11 {
        // Such a client cannot read chunks (RFC 9112 section 6.1): the end of the connection is the end of the body.
        let head = response.response_mut().head_mut();
        head.no_chunking(true);
        head.set_connection_type(ConnectionType::Close);
    }
    report(&response, &id, &shared, started);
    Ok(response)
}

/// Answers requests that match no route.
pub(super) async fn no_such_path() -> Result<HttpResponse, Problem> {
    Err(Problem::not_found())
}

fn header_bytes(headers: &HeaderMap) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum()
}

/// Replaces a response that carries a problem, or an error without a body, by the area's error body.
fn in_area_shape<B: MessageBody + 'static>(
    response: ServiceResponse<B>,
    id: &RequestId,
    shared: &Shared,
) -> ServiceResponse<EitherBody<B>> {
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response.map_into_left_body();
    }
    let carried = response.response().extensions().get::<Problem>().cloned();
    let made_below_us = || {
        let is_json = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        let is_page = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
        let empty = matches!(
            response.response().body().size(),
            BodySize::None | BodySize::Sized(0)
        );
        (empty || !(is_json || is_page)).then(|| Problem::from_status(status))
    };
    match carried.or_else(made_below_us) {
        Some(problem) => {
            log_cause(&problem, id);
            let (request, replaced) = response.into_parts();
            let mut rendered = problem.render_for(&request, shared.render, shared.render_page);
            // Without the headers of the CORS layer, a page could not read why its request failed.
            for (name, value) in replaced.headers() {
                if !rendered.headers().contains_key(name) {
                    rendered.headers_mut().append(name.clone(), value.clone());
                }
            }
            ServiceResponse::new(request, rendered).map_into_right_body()
        }
        None => response.map_into_left_body(),
    }
}

fn log_cause(problem: &Problem, id: &RequestId) {
    if let Some(cause) = &problem.cause {
        let level = if problem.status == StatusCode::INTERNAL_SERVER_ERROR {
            log::Level::Error
        } else {
            log::Level::Warn
        };
        log::log!(level, request_id:% = id; "{}: {cause}", problem.message);
    }
}

/// Returns the error response where the request itself is gone, so that it cannot become a response to it.
fn refusal(response: &HttpResponse<BoxBody>, id: &RequestId, shared: &Shared) -> actix_web::Error {
    let problem = response.extensions().get::<Problem>().cloned();
    let problem = problem.unwrap_or_else(|| Problem::from_status(response.status()));
    log_cause(&problem, id);
    let mut rendered = problem.render(shared.render);
    set_headers(&mut rendered, id, true, shared);
    InternalError::from_response(problem, rendered).into()
}

fn set_headers<B>(response: &mut HttpResponse<B>, id: &RequestId, is_api: bool, shared: &Shared) {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        headers.insert(header::HeaderName::from_static("x-request-id"), value);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if let Some(hsts) = &shared.hsts {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, hsts.clone());
    }
    // Most responses contain tokens or personal data; those that may be cached say so themselves.
    if is_api && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if shared.draining.load(Ordering::Acquire) {
        response
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
}

/// Restricts the pages of the API description: they call only this service, run only its scripts, and cannot be framed.
fn protect_docs(headers: &mut HeaderMap) {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
}

fn asked_database<B>(response: &ServiceResponse<B>, statements: u64, shared: &Shared) {
    if statements > 0 {
        let request = response.request();
        let route = request.match_pattern();
        let route = route.as_deref().unwrap_or(UNMATCHED);
        shared
            .metrics
            .asked_database(request.method().as_str(), route, statements);
    }
}

fn report<B>(response: &ServiceResponse<B>, id: &RequestId, shared: &Shared, started: Instant) {
    let took = started.elapsed();
    let request = response.request();
    // The pattern, not the path: paths contain ids and, for invitations, secrets.
    let route = request.match_pattern();
    let route = route.as_deref().unwrap_or(UNMATCHED);
    let status = response.status();
    shared
        .metrics
        .observe(request.method().as_str(), route, status.as_str(), took);
    if status.is_server_error() {
        log::warn!(request_id:% = id; "{} {route} answered {}", request.method(), status.as_u16());
    } else {
        log::debug!(request_id:% = id, ms = took.as_millis(); "{} {route} answered {}", request.method(), status.as_u16());
    }
}
