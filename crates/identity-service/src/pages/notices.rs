//! The messages of a page about a submitted form: that it succeeded, or which field is wrong.

use serde::Deserialize;
use service_kit::Problem;
pub(super) use web_kit::FormMessages;

use crate::error::Error;

/// The query of a page that a form redirects to.
#[derive(Deserialize)]
pub(super) struct DoneQuery {
    done: Option<String>,
}

/// The same for a page with a long list.
#[derive(Deserialize)]
pub(super) struct ListQuery {
    pub(super) done: Option<String>,
    #[serde(default)]
    pub(super) offset: i64,
}

impl DoneQuery {
    pub(super) fn notices(&self) -> FormMessages {
        done(self.done.as_deref())
    }
}

/// Returns the message of a form that succeeded, by its name in the query.
pub(super) fn done(name: Option<&str>) -> FormMessages {
    FormMessages::done(name, &DONE)
}

/// Returns the message for an error that the sender of a form with these fields can correct.
///
/// # Errors
/// The error itself if changing the form cannot correct it.
pub(super) fn of(error: Error, fields: &[&'static str]) -> Result<FormMessages, Error> {
    let Some(field) = field_of(&error, fields) else {
        return Err(error);
    };
    let problem = Problem::from(&error);
    let message = match error {
        Error::InvalidCredentials if fields.contains(&"totp_code") => {
            "Wrong password or code".to_owned()
        }
        Error::InvalidCredentials if fields.contains(&"password") => "Wrong password".to_owned(),
        Error::InvalidCredentials => "This code is not right".to_owned(),
        _ => shortened(&problem.message, field),
    };
    Ok(FormMessages::flawed(field, problem.status, message))
}

/// Returns the message for a file that could not be read from the request.
pub(super) fn of_problem(problem: &Problem, field: &'static str) -> FormMessages {
    FormMessages::flawed(Some(field), problem.status, problem.message.to_string())
}

/// Returns the field that an error is about. The inner `None` means the form as a whole, the outer one that the form is
/// not the cause.
fn field_of(error: &Error, fields: &[&'static str]) -> Option<Option<&'static str>> {
    let candidates: &[&'static str] = match error {
        Error::Validation(text) => {
            let first = text.split(' ').next().unwrap_or_default();
            let named = fields.iter().copied().find(|field| {
                *field == first
                    || matches!(
                        (first, *field),
                        ("password", "new_password")
                            | ("premium_expires_at", "until")
                            | ("the", "photo")
                            | ("this", "slug")
                    )
            });
            return Some(named);
        }
        Error::LastOwner
        | Error::InvitationGone
        | Error::InvitationRequired
        | Error::Forbidden(_) => return Some(None),
        Error::EmailTaken => &["email"],
        Error::PasswordTooLong | Error::WeakPassword => &["new_password"],
        Error::InvalidCredentials => &["password", "code"],
        Error::TotpRequired => &["totp_code"],
        Error::SlugTaken => &["slug"],
        Error::UserNotFound | Error::AlreadyMember | Error::MemberLeft => &["username"],
        Error::PhotoTooLarge(_) | Error::UnsupportedImage => &["photo"],
        _ => &[],
    };
    let found = fields.iter().find(|field| candidates.contains(field));
    found.map(|field| Some(*field))
}

/// Omits the field's name in the message beside it: "bio must have …" becomes "Must have …".
fn shortened(sentence: &str, field: Option<&str>) -> String {
    let rest = field.and_then(|_| sentence.split_once(" must "));
    match rest {
        Some((name, rest)) if !name.contains(' ') => format!("Must {rest}"),
        _ => sentence.to_owned(),
    }
}

/// The messages of forms that succeeded.
const DONE: [(&str, &str); 31] = [
    ("profile", "Your profile is saved."),
    ("photo", "Your photo is saved."),
    ("photo-removed", "Your photo is removed."),
    (
        "email",
        "A mail with a link is on its way to that address. The address is yours once you have opened the link.",
    ),
    (
        "password",
        "Your password is changed. Every other session was ended.",
    ),
    ("second-factor-off", "The second factor is switched off."),
    ("session", "The session is ended."),
    ("sessions", "All other sessions are ended."),
    ("application", "The application has no access any more."),
    ("team", "The team is there. Invite somebody."),
    ("team-saved", "The team is saved."),
    ("team-deleted", "The team is deleted."),
    ("left", "You have left the team."),
    ("joined", "You have joined the team."),
    ("declined", "The invitation is declined."),
    ("invited", "The invitation is on its way by mail."),
    ("withdrawn", "The invitation is withdrawn."),
    ("added", "The member is added."),
    ("role", "The role is changed."),
    ("removed", "The member is removed."),
    (
        "handed-over",
        "The team has another owner now. You are an admin.",
    ),
    ("activated", "The account is active again."),
    (
        "deactivated",
        "The account is deactivated, and its sessions are ended.",
    ),
    ("promoted", "The account is a SUPERADMIN now."),
    ("demoted", "The account is an ordinary one now."),
    ("plan", "The plan is changed."),
    ("sessions-ended", "All sessions of the account are ended."),
    (
        "reset-mailed",
        "If the account has an address that is known to be its owner's, a mail with a link to a new password is on its way.",
    ),
    (
        "rotated",
        "A new key is published, and signs in a few minutes. What older keys signed stays good until it expires.",
    ),
    (
        "key-waits",
        "The next keys are published already; nothing was changed.",
    ),
    (
        "client-deleted",
        "The client is deleted, and its sessions are ended.",
    ),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeSet;

    use actix_web::http::StatusCode;

    use super::*;

    #[test]
    fn a_validation_error_is_shown_beside_its_field() {
        let error = Error::Validation("bio must have at most 2000 characters".into());
        let notices = of(error, &["bio", "website_url"]).unwrap();
        assert_eq!(notices.at("bio"), Some("Must have at most 2000 characters"));
        assert_eq!((notices.at("website_url"), notices.bad()), (None, None));
        let notices = of(Error::LastOwner, &["role"]).unwrap();
        assert!(notices.bad().is_some());
        assert_eq!(notices.status(), StatusCode::CONFLICT);
    }

    #[test]
    fn an_error_that_no_input_can_correct_stays_an_error() {
        for error in [
            Error::TeamNotFound,
            Error::TokenRevoked,
            Error::RateLimited(3),
            Error::UserNotFound,
        ] {
            assert!(of(error, &["password"]).is_err());
        }
    }

    #[test]
    fn each_name_of_a_success_message_is_unique() {
        let names: BTreeSet<_> = DONE.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DONE.len());
    }
}
