//! What all pages have in common, and how errors look.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use service_kit::Problem;
use web_kit::assets::STYLESHEET;
use web_kit::html::{accepts_html, html};
use web_kit::text::in_words;

use crate::Dashboard;
use crate::assets::OWN_STYLESHEET;
use crate::form::Typed;
use crate::visitor::{Member, remember};

/// Paths of the service that mounts the dashboard, which programs call.
const NOT_OURS: [&str; 5] = ["/api/", "/health", "/metrics", "/openapi.json", "/docs"];

/// What surrounds a page; `templates/frame.html` shows it.
pub(crate) struct Frame {
    pub(crate) title: String,
    /// For the hidden field of every form.
    pub(crate) csrf: String,
    /// Of who is signed in.
    pub(crate) username: Option<String>,
    /// `light`, `dark`, or empty for what the system says.
    pub(crate) theme: &'static str,
    /// The identity service's page of one's account.
    pub(crate) account: String,
    pub(crate) stylesheets: [&'static str; 2],
    /// The place in the live events up to which the page shows what happened; they go back a while before it.
    pub(crate) position: i64,
    /// Without its query; marks where one is.
    path: String,
}

impl Frame {
    /// Around a page of somebody who is signed in.
    pub(crate) fn of_member(member: &Member, title: &str, path: &str, theme: &str) -> Self {
        Self {
            csrf: member.form_token(),
            username: Some(member.sign_in.username.clone()),
            theme: match theme {
                "light" => "light",
                "dark" => "dark",
                _ => "",
            },
            path: path.to_owned(),
            ..Self::of_nobody(&member.visitor.dashboard, title)
        }
    }

    /// Around a page that is shown without asking who looks.
    pub(crate) fn of_nobody(dashboard: &Dashboard, title: &str) -> Self {
        Self {
            title: title.to_owned(),
            csrf: String::new(),
            username: None,
            theme: "",
            account: dashboard.settings.account("/account"),
            stylesheets: [STYLESHEET.path(), OWN_STYLESHEET.path()],
            position: dashboard.clock.now().timestamp_micros(),
            path: String::new(),
        }
    }

    /// Whether it is this page.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether the page is part of a session or a break of now.
    pub(crate) fn is_of_today(&self) -> bool {
        let ends = |end: &str| self.is_in("/sessions") && self.path.ends_with(end);
        let is_here = ["/", "/start", "/break"]
            .iter()
            .any(|part| self.is_in(part));
        is_here || ends("/finish") || ends("/finished")
    }

    /// Whether the page is in this part of the dashboard.
    pub(crate) fn is_in(&self, part: &str) -> bool {
        let rest = self.path.strip_prefix(part);
        rest.is_some_and(|rest| rest.is_empty() || (part != "/" && rest.starts_with('/')))
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage<'a> {
    frame: Frame,
    message: &'a str,
    what_next: String,
    typed: Vec<String>,
}

/// How an error looks to who came with a browser to one of our pages; programs are answered with JSON.
#[must_use]
pub fn render_problem(problem: &Problem, request: &HttpRequest) -> Option<HttpResponse> {
    let path = request.path();
    if NOT_OURS.iter().any(|start| path.starts_with(start)) || !accepts_html(request) {
        return None;
    }
    let dashboard = request.app_data::<Data<Dashboard>>()?;
    let (title, what_next) = in_words(problem, "today");
    let page = ProblemPage {
        frame: Frame::of_nobody(dashboard, title),
        message: &problem.message,
        what_next,
        typed: Typed::of(request),
    };
    let mut answer = html(problem.status, &page, &dashboard.policy);
    remember(request, dashboard, &mut answer);
    Some(answer)
}
