//! The messages of a page about a submitted form: that it succeeded, or what is wrong with which field.

use messages::t;
use serde::Deserialize;

use crate::api::ApiRejection;

pub(crate) use web_kit::FormMessages;

/// The name of a success message, in the address of the page.
#[derive(Deserialize)]
pub(crate) struct DoneQuery {
    done: Option<String>,
}

impl DoneQuery {
    /// Returns the success message, if there is one.
    pub(crate) fn notices(&self) -> FormMessages {
        FormMessages::done(self.done.as_deref(), &DONE)
    }
}

impl ApiRejection {
    /// Returns the messages of a rejected form with these fields. The service's sentences begin with the field's name.
    pub(crate) fn notices(&self, fields: &[&'static str]) -> FormMessages {
        let (first, rest) = self.message.split_once(' ').unwrap_or_default();
        let field = fields.iter().copied().find(|field| *field == first);
        let message: String = match (field, self.message.split_once(" must ")) {
            (Some(_), Some((_, rule))) => t("dashboard-field-must").with("rule", rule).into(),
            (Some(_), None) => t("dashboard-field-this").with("rest", rest).into(),
            (None, _) => self.message.clone(),
        };
        FormMessages::flawed(field, self.status, message)
    }
}

/// The ids of the success messages, by their names.
const DONE: [(&str, &str); 15] = [
    ("signed-out", "dashboard-done-signed-out"),
    ("signed-out-here", "dashboard-done-signed-out-here"),
    ("started", "dashboard-done-started"),
    ("saved", "dashboard-done-saved"),
    ("preferences", "dashboard-done-preferences"),
    ("timezone", "dashboard-done-timezone"),
    ("webhook", "dashboard-done-webhook"),
    ("webhook-deleted", "dashboard-done-webhook-deleted"),
    ("project", "dashboard-done-project"),
    ("archived", "dashboard-done-archived"),
    ("chat", "dashboard-done-chat"),
    ("chat-test", "dashboard-done-chat-test"),
    ("kept", "dashboard-done-adopted"),
    ("chat-off", "dashboard-done-chat-off"),
    ("called", "dashboard-done-called"),
];

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;

    use super::*;

    fn of(message: &str) -> FormMessages {
        let refused = ApiRejection {
            status: StatusCode::BAD_REQUEST,
            message: message.to_owned(),
            retry_after: None,
        };
        refused.notices(&["duration", "note"])
    }

    #[test]
    fn what_is_wrong_stands_beside_its_field() {
        let notices = of("duration must be 1 to 480 whole minutes");
        assert_eq!(
            notices.at("duration"),
            Some("Must be 1 to 480 whole minutes")
        );
        assert_eq!((notices.at("note"), notices.bad()), (None, None));
        assert_eq!(of("note is required").at("note"), Some("This is required"));
        assert_eq!(of("Project is archived").bad(), Some("Project is archived"));
    }
}
