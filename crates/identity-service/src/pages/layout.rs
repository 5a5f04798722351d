//! What all pages have in common: the frame around them, their headers, and how errors look.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use service_kit::Problem;
use web_kit::assets::STYLESHEET;
use web_kit::html::{self, FORMS_LEAD_ELSEWHERE, WITHOUT_SCRIPTS};
use web_kit::text::in_words;
use web_kit::{Notices, ReturnTo};

/// Where somebody goes who came from nowhere in particular.
pub(crate) const HOME: &str = "/account";

/// What surrounds a page; `templates/frame.html` shows it.
pub(crate) struct Frame {
    pub(crate) title: String,
    /// For the hidden field of every form.
    pub(crate) csrf: String,
    /// Of who is signed in.
    pub(crate) username: Option<String>,
    pub(crate) is_superadmin: bool,
    pub(crate) stylesheet: &'static str,
    /// Without its query; marks where one is.
    pub(crate) path: String,
    pub(crate) notices: Notices,
}

impl Frame {
    /// The same with what there is to say of the form that was sent.
    pub(crate) fn with(self, notices: Notices) -> Self {
        Self { notices, ..self }
    }

    /// The status of the page, by what it says of the form.
    pub(crate) fn status(&self) -> StatusCode {
        self.notices.status()
    }

    /// Whether the page is in this part of the site.
    pub(crate) fn is_in(&self, part: &str) -> bool {
        self.path == part
            || self
                .path
                .strip_prefix(part)
                .is_some_and(|rest| rest.starts_with('/'))
    }

    /// The frame of a page that is shown without asking who looks.
    fn anonymous(title: String) -> Self {
        Self {
            title,
            csrf: String::new(),
            username: None,
            is_superadmin: false,
            stylesheet: STYLESHEET.path(),
            path: String::new(),
            notices: Notices::default(),
        }
    }
}

/// The policy of a page whose form leads to `return_to`. Both endpoints that send browsers to other sites are in the API.
pub(crate) fn policy_before(return_to: &ReturnTo) -> &'static str {
    match return_to.as_str().starts_with("/api/") {
        true => FORMS_LEAD_ELSEWHERE,
        false => WITHOUT_SCRIPTS,
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    frame: Frame,
    message: &'a str,
    what_next: String,
}

/// How an error looks to who came with a browser to one of our pages; programs are answered with JSON.
pub(crate) fn render_problem(problem: &Problem, request: &HttpRequest) -> Option<HttpResponse> {
    if !is_for_browsers(request.path()) || !html::accepts_html(request) {
        return None;
    }
    let (title, what_next) = in_words(problem, "your account");
    let page = ProblemPage {
        frame: Frame::anonymous(title.to_owned()),
        message: &problem.message,
        what_next,
    };
    Some(html::html(problem.status, &page, WITHOUT_SCRIPTS))
}

/// Whether people come to this path: all that is no API, and the two endpoints of it that browsers are sent to.
fn is_for_browsers(path: &str) -> bool {
    !path.starts_with("/api/")
        || path == "/api/oauth/authorize"
        || path == "/api/auth/sso/authorize"
}

/// Whether who is not signed in is to be sent to the sign-in page: all but those that ask for JSON alone.
pub(crate) fn wants_page(request: &HttpRequest) -> bool {
    !html::prefers_json(request)
}
