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
    pub(crate) fn messages(&self) -> FormMessages {
        FormMessages::for_success(self.done.as_deref(), &DONE)
    }
}

impl ApiRejection {
    /// Returns the messages of a rejected form with these fields. The service's sentences begin with the field's name.
    pub(crate) fn messages(&self, fields: &[&'static str]) -> FormMessages {
        let (first, rest) = self.message.split_once(' ').unwrap_or_default();
        let field = fields.iter().copied().find(|field| *field == first);
        let message: String = match (field, self.message.split_once(" must ")) {
            (Some(_), Some((_, rule))) => t("dashboard-field-must").with("rule", rule).into(),
            (Some(_), None) => t("dashboard-field-this").with("rest", rest).into(),
            (None, _) => self.message.clone(),
        };
        FormMessages::for_error(field, self.status, message)
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

    fn reject(message: &str) -> FormMessages {
        let refused = ApiRejection {
            status: StatusCode::BAD_REQUEST,
            message: message.to_owned(),
            retry_after: None,
        };
        refused.messages(&["duration", "note"])
    }

    #[test]
    fn what_is_wrong_stands_beside_its_field() {
        let messages = reject("duration must be 1 to 480 whole minutes");
        let shown = messages.error_at("duration");
        assert_eq!(shown, Some("Must be 1 to 480 whole minutes"));
        assert!(messages.error_at("note").or(messages.error()).is_none());
        let messages = reject("note is required");
        assert_eq!(messages.error_at("note"), Some("This is required"));
        let messages = reject("Project is archived");
        assert_eq!(messages.error(), Some("Project is archived"));
    }
}
