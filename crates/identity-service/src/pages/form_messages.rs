//! The messages of a page about a submitted form: that it succeeded, or which field is wrong.

use messages::t;
use serde::Deserialize;
use service_kit::Problem;
pub(super) use web_kit::FormMessages;

use crate::error::{Error, sentence};

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
    pub(super) fn messages(&self) -> FormMessages {
        done_message(self.done.as_deref())
    }
}

/// Returns the message of a form that succeeded, by its name in the query.
pub(super) fn done_message(name: Option<&str>) -> FormMessages {
    FormMessages::for_success(name, &DONE)
}

/// Returns the message for an error that the sender of a form with these fields can correct.
///
/// # Errors
/// The error itself if changing the form cannot correct it.
pub(super) fn messages_for(error: Error, fields: &[&'static str]) -> Result<FormMessages, Error> {
    let Some(field) = field_of(&error, fields) else {
        return Err(error);
    };
    let problem = Problem::from(&error);
    let message = match error {
        Error::InvalidCredentials if fields.contains(&"totp_code") => {
            t("identity-wrong-password-or-code").to_string()
        }
        Error::InvalidCredentials if fields.contains(&"password") => {
            t("identity-wrong-password").to_string()
        }
        Error::InvalidCredentials => t("identity-wrong-code").to_string(),
        _ => shortened(&problem.message, field),
    };
    Ok(FormMessages::for_error(field, problem.status, message))
}

/// Returns the message for a file that could not be read from the request.
pub(super) fn message_for_problem(problem: &Problem, field: &'static str) -> FormMessages {
    FormMessages::for_error(Some(field), problem.status, problem.message.to_string())
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
fn shortened(text: &str, field: Option<&str>) -> String {
    match field.and_then(|_| text.split_once(' ')) {
        Some((_, rest)) if rest.starts_with("must ") => sentence(rest),
        _ => text.to_owned(),
    }
}

/// The messages of forms that succeeded.
const DONE: [(&str, &str); 32] = [
    ("profile", "identity-profile-saved"),
    ("photo", "identity-photo-saved"),
    ("photo-removed", "identity-photo-removed"),
    ("email", "identity-email-link-sent"),
    ("password", "identity-password-changed"),
    ("second-factor-off", "identity-second-factor-off"),
    ("session", "identity-session-ended"),
    ("sessions", "identity-other-sessions-ended"),
    ("application", "identity-application-revoked"),
    ("team", "identity-team-created"),
    ("team-saved", "identity-team-saved"),
    ("team-deleted", "identity-team-deleted"),
    ("left", "identity-team-left"),
    ("joined", "identity-team-joined"),
    ("declined", "identity-invitation-declined"),
    ("invited", "identity-invitation-sent"),
    ("withdrawn", "identity-invitation-withdrawn"),
    ("added", "identity-member-added"),
    ("role", "identity-role-changed"),
    ("removed", "identity-member-removed"),
    ("handed-over", "identity-team-handed-over"),
    ("activate", "identity-user-activated"),
    ("deactivate", "identity-user-deactivated"),
    ("promote", "identity-user-promoted"),
    ("demote", "identity-user-demoted"),
    ("plan", "identity-plan-changed"),
    ("end-sessions", "identity-user-sessions-ended"),
    ("mail-reset", "identity-reset-mailed"),
    ("rotated", "identity-key-rotated"),
    ("key-waits", "identity-key-pending"),
    ("client-saved", "identity-client-saved"),
    ("client-deleted", "identity-client-deleted"),
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
        let messages = messages_for(error, &["bio", "website_url"]).unwrap();
        let shown = messages.error_at("bio");
        assert_eq!(shown, Some("Must have at most 2000 characters"));
        assert!(
            messages
                .error_at("website_url")
                .or(messages.error())
                .is_none()
        );
        let messages = messages_for(Error::LastOwner, &["role"]).unwrap();
        assert!(messages.error().is_some());
        assert_eq!(messages.status(), StatusCode::CONFLICT);
    }

    #[test]
    fn an_error_that_no_input_can_correct_stays_an_error() {
        for error in [
            Error::TeamNotFound,
            Error::TokenRevoked,
            Error::RateLimited(3),
            Error::UserNotFound,
        ] {
            assert!(messages_for(error, &["password"]).is_err());
        }
    }

    #[test]
    fn each_name_of_a_success_message_is_unique() {
        let names: BTreeSet<_> = DONE.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), DONE.len());
    }
}
