//! Leaving a team, and deleting one.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use messages::t;
use serde::Deserialize;

use super::team_context::{TeamForm, TeamPageContext};
use crate::pages::form::EmptyForm;
use crate::pages::form_messages::{FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::request_context::RequestContext;
use crate::teams::authorization::{TeamMember, TeamOwner};
use crate::teams::{members, service};

#[derive(Template)]
#[template(path = "teams/leave.html")]
struct LeavePage<'a> {
    frame: PageFrame,
    path: String,
    team_name: &'a str,
    is_owner: bool,
}

#[derive(Template)]
#[template(path = "teams/delete.html")]
struct DeleteTeamPage<'a> {
    frame: PageFrame,
    path: String,
    team_name: &'a str,
    slug: &'a str,
    input: &'a str,
}

#[derive(Deserialize)]
pub(super) struct DeleteForm {
    slug: String,
}

pub(super) async fn leave_page(team: TeamPageContext<TeamMember>) -> HttpResponse {
    ask_leave(&team, FormMessages::default())
}

pub(super) async fn leave(
    form: TeamForm<EmptyForm, TeamMember>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let team = form.team;
    match members::leave(&team.visitor.app, &team.member, &context).await {
        Ok(()) => Ok(team.visitor.see_other("/teams?done=left")),
        Err(error) => Ok(ask_leave(&team, messages_for(error, &[])?)),
    }
}

fn ask_leave(team: &TeamPageContext<TeamMember>, messages: FormMessages) -> HttpResponse {
    let page = LeavePage {
        frame: team.visitor.frame(t("teams-leave")).with(messages),
        path: team.path(),
        team_name: &team.team().name,
        is_owner: team.member.role == TeamRole::Owner,
    };
    team.visitor.show(page.frame.status(), &page)
}

pub(super) async fn delete_page(team: TeamPageContext<TeamOwner>) -> HttpResponse {
    ask_delete(&team, FormMessages::default(), "")
}

/// Requires the slug to be typed, so that nobody deletes another team by mistake.
pub(super) async fn delete(
    form: TeamForm<DeleteForm, TeamOwner>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { team, input } = form;
    if !input.slug.trim().eq_ignore_ascii_case(&team.team().slug) {
        let messages = FormMessages::for_field("slug", t("teams-delete-mismatch"));
        return Ok(ask_delete(&team, messages, &input.slug));
    }
    service::delete_team(&team.visitor.app, &team.member, &context).await?;
    Ok(team.visitor.see_other("/teams?done=team-deleted"))
}

fn ask_delete(
    team: &TeamPageContext<TeamOwner>,
    messages: FormMessages,
    input: &str,
) -> HttpResponse {
    let page = DeleteTeamPage {
        frame: team.visitor.frame(t("teams-delete")).with(messages),
        path: team.path(),
        team_name: &team.team().name,
        slug: &team.team().slug,
        input,
    };
    team.visitor.show(page.frame.status(), &page)
}
