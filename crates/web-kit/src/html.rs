//! The headers of a page, and who is to be shown one.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use askama::Template;
use service_kit::Problem;

/// Nothing but our own style sheets and images; no script at all; nobody's frame. Forms stay here.
pub const WITHOUT_SCRIPTS: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The same for a page whose form may end in a redirect to another site. Chromium checks `form-action` against every
/// redirect that follows a form, the ones that the other site answers with included, so there is none.
pub const FORMS_LEAD_ELSEWHERE: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

/// The same, and modules of our own that may call the service that served them. Forms stay here.
pub const WITH_MODULES: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The answer with a page in it, under one of the policies above.
#[must_use]
pub fn html(status: StatusCode, page: &impl Template, policy: &'static str) -> HttpResponse {
    match page.render() {
        Ok(text) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .insert_header((CACHE_CONTROL, "no-store"))
            .insert_header((CONTENT_SECURITY_POLICY, policy))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .insert_header((X_FRAME_OPTIONS, "DENY"))
            .insert_header((HeaderName::from_static("x-robots-tag"), "noindex, nofollow"))
            .insert_header((
                HeaderName::from_static("cross-origin-opener-policy"),
                "same-origin",
            ))
            .body(text),
        Err(error) => Problem::internal(error).error_response(),
    }
}

/// Whether the request is a browser's that navigates.
#[must_use]
pub fn accepts_html(request: &HttpRequest) -> bool {
    names(request, "text/html")
}

/// Whether a header `Accept` of the request names this media type.
#[must_use]
pub fn names(request: &HttpRequest, kind: &str) -> bool {
    request
        .headers()
        .get_all(ACCEPT)
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.to_ascii_lowercase().contains(kind))
}
