//! Pages with a single message: that something is done, or that a link does not work.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use service_kit::Problem;
use service_kit::http::Path;

use super::layout::PageFrame;
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
    text: &'static str,
    next: &'static str,
    next_text: &'static str,
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
    let (title, text) = message.words();
    let (next, next_text) = match (message, &visitor.user) {
        (ResultMessage::DeadLink, _) => ("/forgot-password", "Ask for a new link"),
        (_, Some(_)) => ("/account", "Your account"),
        (_, None) => ("/login", "Sign in"),
    };
    let page = ResultPage {
        frame: visitor.frame(title),
        text,
        next,
        next_text,
    };
    visitor.show(message.status(), &page)
}

impl ResultMessage {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::SignedOut => ("You are signed out", "This browser knows you no longer."),
            Self::PasswordChanged => (
                "Your password was changed",
                "You are signed out everywhere. Sign in with the new password.",
            ),
            Self::EmailConfirmed => (
                "Your address is confirmed",
                "From now on we can reach you there.",
            ),
            Self::LinkRequested => (
                "Look into your mail",
                "If there is such an account and it has an address of its own, a link to a new password is on its way. It is good for an hour.",
            ),
            Self::Declined => (
                "You declined the invitation",
                "Nobody can join with it any more.",
            ),
            Self::DeadLink => (
                "This link is not good any more",
                "Each link works once and for a limited time, and a newer one replaces it. Nothing was changed.",
            ),
            Self::DeadConfirmation => (
                "This link is not good any more",
                "Each link works once and for a day, and a newer one replaces it. You can have another one sent from your account.",
            ),
            Self::UnknownInvitation => (
                "There is no such invitation",
                "If you were invited again, only the link in the newest mail is good.",
            ),
            Self::InvitationAccepted => (
                "This invitation was accepted",
                "Each invitation lets one person in. Ask the team for another one if it was not you.",
            ),
            Self::InvitationDeclined => (
                "This invitation was declined",
                "Ask the team for another one if you want to join after all.",
            ),
            Self::InvitationRevoked => (
                "This invitation was taken back",
                "The team withdrew it. Ask there if you think that was a mistake.",
            ),
            Self::InvitationExpired => (
                "This invitation has expired",
                "Invitations are good for seven days. Ask the team for another one.",
            ),
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
