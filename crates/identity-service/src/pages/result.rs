//! Pages with a single message: that something is done, or that a link does not work.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::{Text, t};
use service_kit::Problem;
use service_kit::http::Path;

use super::page_frame::PageFrame;
use super::visitor::Visitor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultMessage {
    /// This and the next four are pages below `/done/`.
    SignedOut,
    PasswordChanged,
    EmailConfirmed,
    LinkRequested,
    Declined,
    DeadLink,
    DeadConfirmation,
    UnknownInvitation,
    InvitationAccepted,
    InvitationDeclined,
    InvitationRevoked,
    InvitationExpired,
}

#[derive(Template)]
#[template(path = "entry/result.html")]
struct ResultPage {
    frame: PageFrame,
    text: Text,
    next: &'static str,
    next_text: Text,
}

/// Shows `/done/{what}`, to which a form redirects so that a reload does not send it again.
pub(super) async fn done_page(
    visitor: Visitor,
    what: Path<(String,)>,
) -> Result<HttpResponse, Problem> {
    let message = match what.0.0.as_str() {
        "signed-out" => ResultMessage::SignedOut,
        "password-changed" => ResultMessage::PasswordChanged,
        "email-confirmed" => ResultMessage::EmailConfirmed,
        "link-requested" => ResultMessage::LinkRequested,
        "invitation-declined" => ResultMessage::Declined,
        _ => return Err(Problem::not_found()),
    };
    Ok(show_result(&visitor, message))
}

/// Redirects `/` to the account page or the sign-in page.
pub(super) async fn home(visitor: Visitor) -> HttpResponse {
    match visitor.user {
        Some(_) => visitor.see_other("/account"),
        None => visitor.see_other("/login"),
    }
}

pub(super) fn show_result(visitor: &Visitor, message: ResultMessage) -> HttpResponse {
    let (title, text) = message.ids();
    let (next, next_text) = match (message, &visitor.user) {
        (ResultMessage::DeadLink, _) => ("/forgot-password", "entry-request-link"),
        (_, Some(_)) => ("/account", "identity-go-to-account"),
        (_, None) => ("/login", "entry-sign-in"),
    };
    let page = ResultPage {
        frame: visitor.frame(t(title)),
        text: t(text),
        next,
        next_text: t(next_text),
    };
    visitor.show(message.status(), &page)
}

impl ResultMessage {
    /// Returns the ids of the heading and the text.
    fn ids(self) -> (&'static str, &'static str) {
        match self {
            Self::SignedOut => ("entry-signed-out", "entry-signed-out-text"),
            Self::PasswordChanged => ("entry-password-changed", "entry-password-changed-text"),
            Self::EmailConfirmed => ("entry-email-verified", "entry-email-verified-text"),
            Self::LinkRequested => ("entry-link-requested", "entry-link-requested-text"),
            Self::Declined => ("entry-declined", "entry-declined-text"),
            Self::DeadLink => ("entry-dead-link", "entry-dead-link-text"),
            Self::DeadConfirmation => ("entry-dead-link", "entry-dead-verification-text"),
            Self::UnknownInvitation => ("entry-unknown", "entry-unknown-text"),
            Self::InvitationAccepted => ("entry-was-accepted", "entry-was-accepted-text"),
            Self::InvitationDeclined => ("entry-was-declined", "entry-was-declined-text"),
            Self::InvitationRevoked => ("entry-was-withdrawn", "entry-was-withdrawn-text"),
            Self::InvitationExpired => ("entry-has-expired", "entry-has-expired-text"),
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::DeadLink
            | Self::DeadConfirmation
            | Self::InvitationAccepted
            | Self::InvitationDeclined
            | Self::InvitationRevoked
            | Self::InvitationExpired => StatusCode::GONE,
            Self::UnknownInvitation => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        }
    }
}
