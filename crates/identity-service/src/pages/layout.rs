//! What all pages have in common: the frame around them, their headers, and how errors look.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use service_kit::Problem;
use url::Url;
use web_kit::ReturnTo;
use web_kit::assets::STYLESHEET;
use web_kit::html::{self, WITHOUT_SCRIPTS};
use web_kit::text::in_words;

use super::visitor::Visitor;

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
}

impl Frame {
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
        }
    }
}

/// The answer with a page in it.
pub(crate) fn html(status: StatusCode, page: &impl Template) -> HttpResponse {
    html::html(status, page, WITHOUT_SCRIPTS)
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
    Some(html(problem.status, &page))
}

/// Whether people come to this path: all that is no API, and the two endpoints of it that browsers are sent to.
fn is_for_browsers(path: &str) -> bool {
    !path.starts_with("/api/")
        || path == "/api/oauth/authorize"
        || path == "/api/auth/sso/authorize"
}

/// Whether who is not signed in is to be sent to the sign-in page: all but those that ask for JSON alone.
pub(crate) fn wants_page(request: &HttpRequest) -> bool {
    html::accepts_html(request) || !html::names(request, "application/json")
}

#[derive(Template)]
#[template(path = "onward.html")]
struct OnwardPage<'a> {
    frame: Frame,
    target: &'a str,
    host: &'a str,
}

/// Sends somebody who has just signed in to where he wanted to go.
pub(crate) fn onward_here(visitor: &Visitor, return_to: &ReturnTo) -> HttpResponse {
    let there = Url::parse(&visitor.app.base_url).and_then(|base| base.join(return_to.as_str()));
    match there {
        // What follows may lead to another site.
        Ok(there) if return_to.as_str().starts_with("/api/") => onward(&there),
        _ => visitor.see_other(return_to.as_str()),
    }
}

/// A page that takes the browser on to another site at once. A redirect would not do after a form: what a
/// form is answered with is a navigation of that form, which policies of pages may forbid across sites.
pub(crate) fn onward(target: &Url) -> HttpResponse {
    html(
        StatusCode::OK,
        &OnwardPage {
            frame: Frame::anonymous("One moment".to_owned()),
            target: target.as_str(),
            host: target.host_str().unwrap_or(target.scheme()),
        },
    )
}
