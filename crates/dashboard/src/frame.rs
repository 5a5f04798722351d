//! What all pages have in common.

use actix_web::http::StatusCode;
use web_kit::assets::STYLESHEET;

use crate::assets::OWN_STYLESHEET;
use crate::notices::Notices;
use crate::state::Dashboard;

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
    pub(crate) path: String,
    pub(crate) notices: Notices,
}

impl Frame {
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
            notices: Notices::default(),
        }
    }

    /// The same with what there is to say of the form that was sent.
    pub(crate) fn with(self, notices: Notices) -> Self {
        Self { notices, ..self }
    }

    /// The status of the page, by what it says of the form.
    pub(crate) fn status(&self) -> StatusCode {
        self.notices.status()
    }

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
