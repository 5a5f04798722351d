//! What all pages share.

use actix_web::http::StatusCode;
use web_kit::assets::STYLESHEET;

use crate::app_state::Dashboard;
use crate::assets::OWN_STYLESHEET;
use crate::form_messages::FormMessages;

/// What surrounds a page, as `templates/frame.html` shows it.
pub(crate) struct PageFrame {
    pub(crate) title: String,
    /// The CSRF token, for the hidden field of every form.
    pub(crate) csrf: String,
    /// The name of the signed-in account.
    pub(crate) username: Option<String>,
    /// `light`, `dark`, or empty for the system's setting.
    pub(crate) theme: &'static str,
    /// The account's page at the identity service.
    pub(crate) account: String,
    pub(crate) stylesheets: [&'static str; 2],
    /// The position in the event stream up to which the page shows all changes. The stream repeats some time before it.
    pub(crate) position: i64,
    /// The path without its query, which marks the current entry of the menu.
    pub(crate) path: String,
    pub(crate) messages: FormMessages,
}

impl PageFrame {
    /// Creates the frame of a page that is shown without checking who the visitor is.
    pub(crate) fn anonymous(dashboard: &Dashboard, title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            csrf: String::new(),
            username: None,
            theme: "",
            account: dashboard.settings.account("/account"),
            stylesheets: [STYLESHEET.path(), OWN_STYLESHEET.path()],
            position: dashboard.clock.now().timestamp_micros(),
            path: String::new(),
            messages: FormMessages::default(),
        }
    }

    pub(crate) fn with(self, messages: FormMessages) -> Self {
        Self { messages, ..self }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.messages.status()
    }

    pub(crate) fn is_at(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether the page is part of a current session or break.
    pub(crate) fn is_of_today(&self) -> bool {
        let ends = |end: &str| self.is_in("/sessions") && self.path.ends_with(end);
        let is_here = ["/", "/start", "/break"]
            .iter()
            .any(|part| self.is_in(part));
        is_here || ends("/finish") || ends("/finished")
    }

    pub(crate) fn is_in(&self, part: &str) -> bool {
        let rest = self.path.strip_prefix(part);
        rest.is_some_and(|rest| rest.is_empty() || (part != "/" && rest.starts_with('/')))
    }
}
