//! What a page says of the form that was sent: that it is done, or what is wrong with which field.

use std::ops::Deref;

use actix_web::http::StatusCode;

use crate::api::Refused;

/// The notices of our pages.
#[derive(Default)]
pub(crate) struct Notices(web_kit::Notices);

impl Deref for Notices {
    type Target = web_kit::Notices;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Notices {
    /// Nothing to say.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// That something is done, by the name in the address the browser was sent to.
    pub(crate) fn done(name: Option<&str>) -> Self {
        Self(web_kit::Notices::done(name, &DONE))
    }

    /// What a service says against a form with these fields. Its sentences begin with the field's name.
    pub(crate) fn of(refused: &Refused, fields: &[&'static str]) -> Self {
        let first = refused.message.split(' ').next().unwrap_or_default();
        let field = fields.iter().copied().find(|field| *field == first);
        let message = match (field, refused.message.split_once(" must ")) {
            (Some(_), Some((_, rule))) => format!("Must {rule}"),
            (Some(_), None) => refused.message.replace(first, "This"),
            (None, _) => refused.message.clone(),
        };
        Self::flawed(field, refused.status, message)
    }

    /// What is wrong with one field.
    pub(crate) fn wrong(field: &'static str, message: &str) -> Self {
        Self(web_kit::Notices::wrong(field, message))
    }

    /// What is wrong with a field, or with the form as a whole.
    pub(crate) fn flawed(field: Option<&'static str>, status: StatusCode, message: String) -> Self {
        Self(web_kit::Notices::flawed(field, status, message))
    }
}

/// What is said where a form was done.
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
    use super::*;

    fn of(message: &str) -> Notices {
        let refused = Refused {
            status: StatusCode::BAD_REQUEST,
            message: message.to_owned(),
            retry_after: None,
        };
        Notices::of(&refused, &["duration", "note"])
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
