//! The headers of a page, and who is to be shown one.

use std::cmp::Reverse;

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
pub fn html(status: StatusCode, page: &impl Template, policy: &str) -> HttpResponse {
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

/// Whether the request is a browser's that navigates: it names pages, and does not like JSON better.
#[must_use]
pub fn accepts_html(request: &HttpRequest) -> bool {
    match (
        liking(request, "text/html"),
        liking(request, "application/json"),
    ) {
        (Some(html), Some(json)) => html > json,
        (html, _) => html.is_some(),
    }
}

/// Whether the request names JSON and does not like pages better.
#[must_use]
pub fn prefers_json(request: &HttpRequest) -> bool {
    liking(request, "application/json").is_some() && !accepts_html(request)
}

/// How much the header `Accept` likes a media type that it names (RFC 9110 section 12.5.1); of two that it likes the same,
/// the one before more.
fn liking(request: &HttpRequest, kind: &str) -> Option<(u16, Reverse<usize>)> {
    let values = request.headers().get_all(ACCEPT);
    let values = values.filter_map(|value| value.to_str().ok());
    let kinds = values.flat_map(|value| value.split(','));
    let liked = kinds.enumerate().filter_map(|(place, text)| {
        let mut parts = text.split(';').map(str::trim);
        let is_it = parts.next()?.eq_ignore_ascii_case(kind);
        let weight = thousandths(parts.find_map(|part| part.strip_prefix("q=")));
        (is_it && weight > 0).then_some((weight, Reverse(place)))
    });
    liked.max()
}

/// A weight has at most three digits after the point; none at all is 1.
fn thousandths(weight: Option<&str>) -> u16 {
    match weight.and_then(|weight| weight.strip_prefix('0')) {
        Some(rest) => format!("{:0<3}", rest.trim_start_matches('.'))
            .parse()
            .unwrap_or(0),
        None => 1_000,
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn a_page_is_for_who_likes_pages_better_than_json() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (accept, html, json) in [
            (browser, true, false),
            ("application/json", false, true),
            ("Application/JSON;charset=utf-8", false, true),
            ("application/json, text/plain, */*", false, true),
            ("application/json, text/html", false, true),
            ("text/html, application/json", true, false),
            ("text/html;q=0.5, application/json;q=0.45", true, false),
            ("text/html;q=0.5, application/json", false, true),
            ("text/html, application/json;q=0", true, false),
            ("text/html;q=0.000, application/json;q=0.1", false, true),
            ("*/*", false, false),
            ("", false, false),
        ] {
            let request = TestRequest::default().insert_header((ACCEPT, accept));
            let request = request.to_http_request();
            let found = (accepts_html(&request), prefers_json(&request));
            assert_eq!(found, (html, json), "{accept}");
        }
    }
}
