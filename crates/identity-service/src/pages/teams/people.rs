//! Adding members to a team: by mail, or by username.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;

use super::at_team::{TeamForm, TeamPageContext};
use crate::invitations::service;
use crate::invitations::wire::{Invitation, InvitationsQuery, InviteRequest};
use crate::origin::RequestContext;
use crate::pages::form::IdForm;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, FormMessages, ListQuery};
use crate::pages::text::{self, Pager};
use crate::teams::access::TeamAdmin;
use crate::teams::members;
use crate::teams::wire::AddMemberRequest;

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "teams/people.html")]
struct MembersPage<'a> {
    frame: PageFrame,
    path: String,
    team_name: &'a str,
    invitations: Vec<Invitation>,
    pager: Pager,
    /// Whether accounts can be added without an invitation.
    direct_add: bool,
    typed: MembersFormInput<'a>,
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
    at_team: TeamPageContext<TeamAdmin>,
    query: Query<ListQuery>,
) -> actix_web::Result<HttpResponse> {
    let ListQuery { done, offset } = query.0;
    let notices = notices::done(done.as_deref());
    show(&at_team, notices, MembersFormInput::default(), offset).await
}

pub(super) async fn invite(
    form: TeamForm<InviteForm, TeamAdmin>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { at_team, typed } = form;
    let request = InviteRequest {
        email: typed.email.trim().to_owned(),
        role: Some(typed.role.clone()),
    };
    match service::invite(&at_team.visitor.app, &at_team.rank, request, &origin).await {
        Ok(_) => Ok(at_team.done("/people", "invited")),
        Err(error) => {
            let notices = notices::of(error, &["email"])?;
            let typed = MembersFormInput {
                email: &typed.email,
                as_admin: typed.role == "admin",
                ..MembersFormInput::default()
            };
            show(&at_team, notices, typed, 0).await
        }
    }
}

pub(super) async fn add(
    form: TeamForm<AddForm, TeamAdmin>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { at_team, typed } = form;
    let request = AddMemberRequest {
        username: typed.username.trim().to_owned(),
        role: Some(typed.role),
    };
    match members::add_member(&at_team.visitor.app, &at_team.rank, request, &origin).await {
        Ok(_) => Ok(at_team.done("", "added")),
        Err(error) => {
            let notices = notices::of(error, &["username"])?;
            let typed = MembersFormInput {
                username: &typed.username,
                ..MembersFormInput::default()
            };
            show(&at_team, notices, typed, 0).await
        }
    }
}

pub(super) async fn withdraw(
    form: TeamForm<IdForm, TeamAdmin>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { at_team, typed } = form;
    match service::revoke(&at_team.visitor.app, &at_team.rank, &typed.id, &origin).await {
        Ok(()) => Ok(at_team.done("/people", "withdrawn")),
        Err(error) => {
            let notices = notices::of(error, &[])?;
            show(&at_team, notices, MembersFormInput::default(), 0).await
        }
    }
}

async fn show(
    at_team: &TeamPageContext<TeamAdmin>,
    notices: FormMessages,
    typed: MembersFormInput<'_>,
    offset: i64,
) -> actix_web::Result<HttpResponse> {
    let wanted = InvitationsQuery::pending(PAGE, offset);
    let found = service::list_of_team(&at_team.visitor.app, &at_team.rank, wanted).await?;
    let path = at_team.path();
    let page = MembersPage {
        frame: at_team.visitor.frame(t("teams-invite")).with(notices),
        team_name: &at_team.team().name,
        pager: Pager::by_offset(&format!("{path}/people"), offset, PAGE, found.total),
        invitations: found.invitations,
        direct_add: at_team.visitor.app.teams.direct_add,
        path,
        typed,
    };
    Ok(at_team.visitor.show(page.frame.status(), &page))
}
