//! The page behind the link of an invitation mail.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::{Text, t};
use serde::Deserialize;
use service_kit::http::Path;

use super::form::Form;
use super::page_frame::PageFrame;
use super::result::{ResultMessage, show_result};
use super::text;
use super::visitor::{SignedInVisitor, Visitor, path_with_return, sign_in_path};
use crate::error::{Error, sentence};
use crate::invitations::acceptance;
use crate::invitations::model::InvitationRef;
use crate::invitations::wire::{Invitation, InvitationStatus};
use crate::rate_limits::AddressLimit;
use crate::request_context::RequestContext;

#[derive(Template)]
#[template(path = "entry/invitation.html")]
struct InvitationPage {
    team: String,
    invited_by: Option<String>,
    role: Text,
    until: String,
    problem: Option<String>,
    sign_in: String,
    register: String,
    frame: PageFrame,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum InvitationChoice {
    Accept,
    Decline,
}

#[derive(Deserialize)]
pub(super) struct InvitationForm {
    answer: InvitationChoice,
}

/// Shows the invitation to the holder of the mail. A member who joined by it is redirected to the team.
pub(super) async fn invitation_page(
    visitor: Visitor,
    token: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    visitor
        .app
        .rate_limits
        .check_address(AddressLimit::Link, context.address)?;
    if let Some(user) = &visitor.user
        && let Some(slug) = acceptance::find_joined(&visitor.app, user, &token.0.0).await?
    {
        return Ok(visitor.see_other(&format!("/teams/{slug}")));
    }
    Ok(show(&visitor, StatusCode::OK, token.0.0, None).await?)
}

pub(super) async fn answer(
    form: Form<InvitationForm>,
    token: Path<(String,)>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (SignedInVisitor { visitor, user }, fields) = form.by_caller()?;
    let token = token.0.0;
    let reference = InvitationRef::parse(token.clone());
    let done = match fields.answer {
        InvitationChoice::Accept => acceptance::accept(&visitor.app, &user, reference, &context)
            .await
            .map(|joined| format!("/teams/{}", joined.team.slug)),
        InvitationChoice::Decline => acceptance::decline(&visitor.app, &user, reference, &context)
            .await
            .map(|()| "/done/invitation-declined".to_owned()),
    };
    match done {
        Ok(path) => Ok(visitor.see_other(&path)),
        Err(error @ Error::Validation(_)) => {
            let problem = Some(sentence(&error.to_string()));
            Ok(show(&visitor, StatusCode::BAD_REQUEST, token, problem).await?)
        }
        // The page shows the invitation's status.
        Err(Error::InvitationGone | Error::InvitationNotFound) => {
            Ok(show(&visitor, StatusCode::GONE, token, None).await?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn show(
    visitor: &Visitor,
    status: StatusCode,
    token: String,
    problem: Option<String>,
) -> Result<HttpResponse, Error> {
    let Some(invitation) = acceptance::find_invitation(&visitor.app, token).await? else {
        return Ok(show_result(visitor, ResultMessage::UnknownInvitation));
    };
    let message = match invitation.status {
        InvitationStatus::Pending => None,
        InvitationStatus::Accepted => Some(ResultMessage::InvitationAccepted),
        InvitationStatus::Declined => Some(ResultMessage::InvitationDeclined),
        InvitationStatus::Revoked => Some(ResultMessage::InvitationRevoked),
        InvitationStatus::Expired => Some(ResultMessage::InvitationExpired),
    };
    Ok(match message {
        Some(message) => show_result(visitor, message),
        None => visitor.show(status, &page(visitor, invitation, problem)),
    })
}

fn page(visitor: &Visitor, invitation: Invitation, problem: Option<String>) -> InvitationPage {
    let frame = visitor.frame(t("entry-invitation"));
    InvitationPage {
        team: invitation.team.name,
        invited_by: invitation.invited_by.map(|inviter| inviter.username),
        role: text::role(&invitation.role),
        until: text::moment(&invitation.expires_at),
        problem,
        sign_in: sign_in_path(&frame.path),
        register: path_with_return("/register", &frame.path),
        frame,
    }
}
