//! The messages of a page about a submitted form: that it succeeded, or what is wrong with which field.

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
        let first = self.message.split(' ').next().unwrap_or_default();
        let field = fields.iter().copied().find(|field| *field == first);
        let message = match (field, self.message.split_once(" must ")) {
            (Some(_), Some((_, rule))) => format!("Must {rule}"),
            (Some(_), None) => self.message.replace(first, "This"),
            (None, _) => self.message.clone(),
        };
        FormMessages::flawed(field, self.status, message)
    }
}

/// The success messages, by their names.
const DONE: [(&str, &str); 15] = [
    ("signed-out", "You are signed out of the dashboard."),
    (
        "signed-out-here",
        "You are signed out in this browser. The identity service did not answer, so the sign-in itself has not ended: end it on your account's page, under Sign-ins.",
    ),
    ("started", "The timer runs, and the plan is locked."),
    ("saved", "The session is saved."),
    ("preferences", "Your preferences are saved."),
    ("timezone", "The time zone is changed."),
    ("webhook", "The webhook is saved."),
    ("webhook-deleted", "The webhook is deleted."),
    ("project", "The project is saved."),
    ("archived", "The project is archived."),
    (
        "chat",
        "The chat is saved. Send a test message to see whether it works.",
    ),
    (
        "chat-test",
        "A test message is on its way. Reload the page to see whether it arrived.",
    ),
    ("kept", "It is yours now and is in use again."),
    ("chat-off", "No chat is told of this project any more."),
    (
        "called",
        "The call is on its way. Reload the page to see what became of it.",
    ),
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
