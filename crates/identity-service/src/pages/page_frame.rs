//! What all pages share: the frame, the headers, and the rendering of errors.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use messages::{Text, t};
use service_kit::Problem;
use web_kit::assets::STYLESHEET;
use web_kit::html::{self, FORMS_LEAD_ELSEWHERE, PagePolicy, WITHOUT_SCRIPTS};
use web_kit::text::in_words;
use web_kit::{FormMessages, ReturnTo};

/// The default page after signing in.
pub(crate) const HOME: &str = "/account";

/// The frame of a page, rendered by `templates/frame.html`.
pub(crate) struct PageFrame {
    pub(crate) title: String,
    /// For the hidden field of every form.
    pub(crate) csrf: String,
    /// The signed-in account, if any.
    pub(crate) username: Option<String>,
    pub(crate) is_superadmin: bool,
    pub(crate) stylesheet: &'static str,
    /// Without the query. It marks the current entry of the navigation.
    pub(crate) path: String,
    pub(crate) messages: FormMessages,
}

impl PageFrame {
    pub(crate) fn with(self, messages: FormMessages) -> Self {
        Self { messages, ..self }
    }

    /// Returns the status of the page, which depends on these messages.
    pub(crate) fn status(&self) -> StatusCode {
        self.messages.status()
    }

    /// Whether the page belongs to this part of the site.
    pub(crate) fn is_in(&self, part: &str) -> bool {
        self.path == part
            || self
                .path
                .strip_prefix(part)
                .is_some_and(|rest| rest.starts_with('/'))
    }

    /// Creates the frame of a page that ignores who is signed in.
    pub(crate) fn anonymous(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            csrf: String::new(),
            username: None,
            is_superadmin: false,
            stylesheet: STYLESHEET.path(),
            path: String::new(),
            messages: FormMessages::default(),
        }
    }
}

/// Returns the policy of a page whose form leads to `return_to`. Only endpoints of the API redirect to other sites.
pub(crate) fn policy_before(return_to: &ReturnTo) -> PagePolicy {
    match return_to.as_str().starts_with("/api/") {
        true => FORMS_LEAD_ELSEWHERE,
        false => WITHOUT_SCRIPTS,
    }
}

#[derive(Template)]
#[template(path = "problem_page.html")]
struct ProblemPage<'a> {
    frame: PageFrame,
    message: &'a str,
    what_next: Text,
}

/// Renders an error for a visitor with a browser. Programs get JSON instead.
pub(crate) fn render_problem(problem: &Problem, request: &HttpRequest) -> Option<HttpResponse> {
    if !is_for_browsers(request.path()) || !html::accepts_html(request) {
        return None;
    }
    let (title, what_next) = in_words(problem, &t("common-start-account"));
    let page = ProblemPage {
        frame: PageFrame::anonymous(title),
        message: &problem.message,
        what_next,
    };
    Some(html::html(problem.status, &page, &WITHOUT_SCRIPTS))
}

/// Whether browsers visit this path: all paths outside the API, and its endpoints that redirect browsers.
fn is_for_browsers(path: &str) -> bool {
    !path.starts_with("/api/")
        || path == "/api/oauth/authorize"
        || path == "/api/oauth/logout"
        || path == "/api/auth/sso/authorize"
}

/// Whether a visitor without a sign-in is redirected to the sign-in page: always, unless they accept JSON only.
pub(crate) fn wants_page(request: &HttpRequest) -> bool {
    !html::prefers_json(request)
}
