//! Error pages.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use messages::{Text, t};
use service_kit::Problem;
use web_kit::html::{accepts_html, html};
use web_kit::text::in_words;

use crate::app_state::Dashboard;
use crate::form::SubmittedInput;
use crate::page_frame::PageFrame;
use crate::visitor::add_cookies;

/// Paths of the service that mounts the dashboard, which programs call.
const NOT_OURS: [&str; 5] = ["/api/", "/health", "/metrics", "/openapi.json", "/docs"];

#[derive(Template)]
#[template(path = "problem_page.html")]
struct ProblemPage<'a> {
    frame: PageFrame,
    message: &'a str,
    what_next: Text,
    input: Vec<String>,
}

/// Renders an error as a page, if a browser requested one of our pages. Programs receive JSON.
#[must_use]
pub fn render_problem(problem: &Problem, request: &HttpRequest) -> Option<HttpResponse> {
    let path = request.path();
    if NOT_OURS.iter().any(|start| path.starts_with(start)) || !accepts_html(request) {
        return None;
    }
    let dashboard = request.app_data::<Data<Dashboard>>()?;
    let (title, what_next) = in_words(problem, &t("common-start-today"));
    let page = ProblemPage {
        frame: PageFrame::anonymous(dashboard, title),
        message: &problem.message,
        what_next,
        input: SubmittedInput::in_request(request),
    };
    let mut answer = html(problem.status, &page, &dashboard.policy);
    add_cookies(request, dashboard, &mut answer);
    Some(answer)
}
