//! The headers of a page, and which requests get one.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use askama::Template;
use service_kit::Problem;

/// A policy that allows only our own style sheets and images, no scripts, no framing, and forms to this site only.
pub const WITHOUT_SCRIPTS: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The same policy for a page whose form may end in a redirect to another site. Chromium checks `form-action` against every
/// redirect after a form, including those of the other site, so this policy has none.
pub const FORMS_LEAD_ELSEWHERE: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'";

/// The policy without scripts, plus modules of our own that may call the service that served them.
pub const WITH_MODULES: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Returns the response with a page, under one of the policies above.
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
                opener_policy(policy),
            ))
            .body(text),
        Err(error) => Problem::internal(error).error_response(),
    }
}

/// Returns the policy for the page that opened a page as a popup. If forms of the page lead to another site, it may be that
/// site's popup, and returns there at the end. Any other value would separate both for good (HTML standard, section 7.1.3).
fn opener_policy(policy: &str) -> &'static str {
    match policy.contains("form-action 'self'") {
        true => "same-origin",
        false => "unsafe-none",
    }
}

/// Whether the header `Accept` names pages, as that of a browser does when it navigates.
#[must_use]
pub fn accepts_html(request: &HttpRequest) -> bool {
    accepts(request, "text/html")
}

/// Whether the header `Accept` names JSON and no pages.
#[must_use]
pub fn prefers_json(request: &HttpRequest) -> bool {
    accepts(request, "application/json") && !accepts_html(request)
}

/// Whether the header `Accept` names a media type without excluding it (RFC 9110 section 12.5.1).
fn accepts(request: &HttpRequest, kind: &str) -> bool {
    let values = request.headers().get_all(ACCEPT);
    let values = values.filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|text| {
        let mut parts = text.split(';').map(str::trim);
        let is_it = parts
            .next()
            .is_some_and(|part| part.eq_ignore_ascii_case(kind));
        is_it && !parts.any(|part| part.strip_prefix("q=").is_some_and(is_zero))
    })
}

fn is_zero(weight: &str) -> bool {
    weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn only_pages_whose_forms_lead_to_other_sites_keep_their_opener() {
        assert_eq!(opener_policy(FORMS_LEAD_ELSEWHERE), "unsafe-none");
        for policy in [WITHOUT_SCRIPTS, WITH_MODULES] {
            assert_eq!(opener_policy(policy), "same-origin");
        }
    }

    #[test]
    fn a_request_that_names_pages_gets_a_page() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (accept, html, json) in [
            (browser, true, false),
            ("application/json", false, true),
            ("Application/JSON;charset=utf-8", false, true),
            ("application/json, text/plain, */*", false, true),
            ("application/json, text/html", true, false),
            ("text/html, application/json", true, false),
            ("text/html;q=0.5, application/json;q=0.45", true, false),
            ("text/html;q=0.5, application/json", true, false),
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
