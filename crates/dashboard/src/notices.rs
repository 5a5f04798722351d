//! What a page says of the form that was sent: that it is done, or what is wrong with which field.

use actix_web::http::StatusCode;

use crate::api::Refused;

/// The sentence at the top of a page and the one beside a field.
#[derive(Default)]
pub(crate) struct Notices {
    done: Option<&'static str>,
    flaw: Option<Flaw>,
}

struct Flaw {
    status: StatusCode,
    /// The field that it stands beside; at the top when there is none.
    field: Option<&'static str>,
    message: String,
}

impl Notices {
    /// Nothing to say.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// That something is done, by the name in the address the browser was sent to; any other name says
    /// nothing.
    pub(crate) fn done(name: Option<&str>) -> Self {
        let found = name.and_then(|name| DONE.iter().find(|(known, _)| *known == name));
        Self {
            done: found.map(|(_, sentence)| *sentence),
            flaw: None,
        }
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
        Self::flawed(Some(field), StatusCode::BAD_REQUEST, message.to_owned())
    }

    /// What is wrong with the form as a whole.
    pub(crate) fn flawed(field: Option<&'static str>, status: StatusCode, message: String) -> Self {
        Self {
            done: None,
            flaw: Some(Flaw {
                status,
                field,
                message,
            }),
        }
    }

    /// Whether something is wrong.
    pub(crate) fn is_flawed(&self) -> bool {
        self.flaw.is_some()
    }

    /// The status of a page that says this.
    pub(crate) fn status(&self) -> StatusCode {
        self.flaw
            .as_ref()
            .map_or(StatusCode::OK, |flaw| flaw.status)
    }

    /// For the top of the page: what is done.
    pub(crate) fn good(&self) -> Option<&'static str> {
        self.done
    }

    /// For the top of the page: what is wrong and belongs to no field, without its full stop.
    pub(crate) fn bad(&self) -> Option<&str> {
        let flaw = self.flaw.as_ref().filter(|flaw| flaw.field.is_none())?;
        Some(flaw.message.trim_end_matches('.'))
    }

    /// For the side of a field.
    pub(crate) fn at(&self, field: &str) -> Option<&str> {
        let flaw = self.flaw.as_ref()?;
        (flaw.field == Some(field)).then_some(&flaw.message)
    }

    /// The attributes that tie a field to what is said beside it; `hint` when it has one of those, too. The
    /// field's name is ours: nothing in here wants escaping.
    pub(crate) fn marks(&self, field: &'static str, hint: bool) -> String {
        match (self.at(field).is_some(), hint) {
            (true, true) => {
                format!(" aria-invalid=\"true\" aria-describedby=\"{field}-error {field}-hint\"")
            }
            (true, false) => format!(" aria-invalid=\"true\" aria-describedby=\"{field}-error\""),
            (false, true) => format!(" aria-describedby=\"{field}-hint\""),
            (false, false) => String::new(),
        }
    }
}

/// What is said where a form was done. Sentences of our own: an address cannot put words into our mouth.
const DONE: [(&str, &str); 14] = [
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

    #[test]
    fn an_address_says_only_what_we_would_say() {
        assert_eq!(Notices::done(Some("evil words")).good(), None);
        assert!(Notices::done(Some("started")).good().is_some());
    }
}
