//! Adding members to a team: by mail, or by username.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use super::team_context::{TeamForm, TeamPageContext};
use crate::invitations::service;
use crate::invitations::wire::{Invitation, InvitationsQuery, InviteRequest};
use crate::pages::form::IdForm;
use crate::pages::form_messages::{FormMessages, ListQuery, done_message, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text::{self, Pager};
use crate::request_context::RequestContext;
use crate::teams::authorization::TeamAdmin;
use crate::teams::members;
use crate::teams::wire::AddMemberRequest;

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "teams/add_members.html")]
struct MembersPage<'a> {
    frame: PageFrame,
    path: String,
    team_name: &'a str,
    invitations: Vec<Invitation>,
    pager: Pager,
    /// Whether accounts can be added without an invitation.
    direct_add: bool,
    input: MembersFormInput<'a>,
}

/// The input in the fields of the two forms.
#[derive(Default)]
struct MembersFormInput<'a> {
    email: &'a str,
    username: &'a str,
    as_admin: bool,
}

#[derive(Deserialize)]
pub(super) struct InviteForm {
    email: String,
    role: String,
}

#[derive(Deserialize)]
pub(super) struct AddForm {
    username: String,
    role: String,
}

pub(super) async fn page(
    team: TeamPageContext<TeamAdmin>,
    query: Query<ListQuery>,
) -> actix_web::Result<HttpResponse> {
    let ListQuery { done, offset } = query.0;
    let messages = done_message(done.as_deref());
    show(&team, messages, MembersFormInput::default(), offset).await
}

pub(super) async fn invite(
    form: TeamForm<InviteForm, TeamAdmin>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { team, input } = form;
    let request = InviteRequest {
        email: input.email.trim().to_owned(),
        role: Some(input.role.clone()),
    };
    match service::invite(&team.visitor.app, &team.member, request, &context).await {
        Ok(_) => Ok(team.done("/people", "invited")),
        Err(error) => {
            let messages = messages_for(error, &["email"])?;
            let input = MembersFormInput {
                email: &input.email,
                as_admin: input.role == "admin",
                ..MembersFormInput::default()
            };
            show(&team, messages, input, 0).await
        }
    }
}

pub(super) async fn add(
    form: TeamForm<AddForm, TeamAdmin>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { team, input } = form;
    let request = AddMemberRequest {
        username: input.username.trim().to_owned(),
        role: Some(input.role),
    };
    match members::add_member(&team.visitor.app, &team.member, request, &context).await {
        Ok(_) => Ok(team.done("", "added")),
        Err(error) => {
            let messages = messages_for(error, &["username"])?;
            let input = MembersFormInput {
                username: &input.username,
                ..MembersFormInput::default()
            };
            show(&team, messages, input, 0).await
        }
    }
}

pub(super) async fn withdraw(
    form: TeamForm<IdForm, TeamAdmin>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { team, input } = form;
    match service::revoke(&team.visitor.app, &team.member, &input.id, &context).await {
        Ok(()) => Ok(team.done("/people", "withdrawn")),
        Err(error) => {
            let messages = messages_for(error, &[])?;
            show(&team, messages, MembersFormInput::default(), 0).await
        }
    }
}

async fn show(
    team: &TeamPageContext<TeamAdmin>,
    messages: FormMessages,
    input: MembersFormInput<'_>,
    offset: i64,
) -> actix_web::Result<HttpResponse> {
    let wanted = InvitationsQuery::pending(PAGE, offset);
    let found = service::list_of_team(&team.visitor.app, &team.member, wanted).await?;
    let path = team.path();
    let page = MembersPage {
        frame: team.visitor.frame(t("teams-invite")).with(messages),
        team_name: &team.team().name,
        pager: Pager::by_offset(&format!("{path}/people"), offset, PAGE, found.total),
        invitations: found.invitations,
        direct_add: team.visitor.app.teams.direct_add,
        path,
        input,
    };
    Ok(team.visitor.show(page.frame.status(), &page))
}
