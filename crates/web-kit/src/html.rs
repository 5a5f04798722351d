//! The headers of a page, and which requests get one.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _};
use askama::Template;
use service_kit::Problem;

/// What a page may load, where its forms may lead, and whether it stays connected with the page that opened it as a popup.
#[derive(Debug, Clone)]
pub struct PagePolicy {
    /// The content security policy.
    content: Cow<'static, str>,
    /// Whether forms of the page lead to another site. It may be that site's popup, and returns there at the end. Any opener
    /// policy would separate both for good (HTML standard, section 7.1.3).
    leads_elsewhere: bool,
}

/// A policy that allows only our own style sheets and images, no scripts, no framing, and forms to this site only.
pub const WITHOUT_SCRIPTS: PagePolicy = PagePolicy {
    content: Cow::Borrowed(
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    leads_elsewhere: false,
};

/// The same policy for a page whose form may end in a redirect to another site. Chromium checks `form-action` against every
/// redirect after a form, including those of the other site, so this policy has none.
pub const FORMS_LEAD_ELSEWHERE: PagePolicy = PagePolicy {
    content: Cow::Borrowed(
        "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'",
    ),
    leads_elsewhere: true,
};

/// The policy without scripts, plus modules of our own that may call the service that served them.
pub const WITH_MODULES: PagePolicy = PagePolicy {
    content: Cow::Borrowed(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    leads_elsewhere: false,
};

impl PagePolicy {
    /// Adds sources to a directive, such as `img-src` (Content Security Policy Level 3 section 2.3). The sources are not checked:
    /// a semicolon or a comma would begin another directive or policy.
    #[must_use]
    pub fn allowing(self, directive: &str, sources: &str) -> Self {
        let with_sources = format!("{directive} {sources}");
        let content = match self.content.contains(&format!("{directive} ")) {
            true => self.content.replace(directive, &with_sources),
            false => format!("{}; {with_sources}", self.content),
        };
        Self {
            content: content.into(),
            ..self
        }
    }

    /// Returns the value of `Cross-Origin-Opener-Policy`.
    fn opener(&self) -> &'static str {
        match self.leads_elsewhere {
            true => "unsafe-none",
            false => "same-origin",
        }
    }
}

/// Returns the response with a page.
#[must_use]
pub fn html(status: StatusCode, page: &impl Template, policy: &PagePolicy) -> HttpResponse {
    match page.render() {
        Ok(text) => HttpResponse::build(status)
            .content_type("text/html; charset=utf-8")
            .insert_header((CACHE_CONTROL, "no-store"))
            .insert_header((CONTENT_SECURITY_POLICY, &*policy.content))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .insert_header((X_FRAME_OPTIONS, "DENY"))
            .insert_header((HeaderName::from_static("x-robots-tag"), "noindex, nofollow"))
            .insert_header((
                HeaderName::from_static("cross-origin-opener-policy"),
                policy.opener(),
            ))
            .body(text),
        Err(error) => Problem::internal(error).error_response(),
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
        assert_eq!(FORMS_LEAD_ELSEWHERE.opener(), "unsafe-none");
        assert!(!FORMS_LEAD_ELSEWHERE.content.contains("form-action"));
        for policy in [WITHOUT_SCRIPTS, WITH_MODULES] {
            assert_eq!(policy.opener(), "same-origin");
            assert!(policy.content.contains("form-action 'self'"));
        }
    }

    #[test]
    fn sources_are_added_to_a_directive_or_with_a_new_one() {
        let policy = FORMS_LEAD_ELSEWHERE.allowing("img-src", "https://a.example/logo");
        let images = "; img-src https://a.example/logo 'self' data:; ";
        assert!(policy.content.contains(images), "{policy:?}");
        let policy = policy.allowing("script-src", "'sha256-x'");
        let script = "; script-src 'sha256-x'";
        assert!(policy.content.ends_with(script), "{policy:?}");
        assert_eq!(policy.opener(), "unsafe-none");
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
