//! Leaving a team, and deleting one.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use messages::t;
use serde::Deserialize;

use super::at_team::{TeamForm, TeamPageContext};
use crate::origin::RequestContext;
use crate::pages::form::EmptyForm;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, FormMessages};
use crate::teams::access::{TeamMember, TeamOwner};
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
    typed: &'a str,
}

#[derive(Deserialize)]
pub(super) struct DeleteForm {
    slug: String,
}

pub(super) async fn leave_page(at_team: TeamPageContext<TeamMember>) -> HttpResponse {
    ask_leave(&at_team, FormMessages::default())
}

pub(super) async fn leave(
    form: TeamForm<EmptyForm, TeamMember>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let at_team = form.at_team;
    match members::leave(&at_team.visitor.app, &at_team.rank, &origin).await {
        Ok(()) => Ok(at_team.visitor.see_other("/teams?done=left")),
        Err(error) => Ok(ask_leave(&at_team, notices::of(error, &[])?)),
    }
}

fn ask_leave(at_team: &TeamPageContext<TeamMember>, notices: FormMessages) -> HttpResponse {
    let page = LeavePage {
        frame: at_team.visitor.frame(t("teams-leave")).with(notices),
        path: at_team.path(),
        team_name: &at_team.team().name,
        is_owner: at_team.rank.role == TeamRole::Owner,
    };
    at_team.visitor.show(page.frame.status(), &page)
}

pub(super) async fn delete_page(at_team: TeamPageContext<TeamOwner>) -> HttpResponse {
    ask_delete(&at_team, FormMessages::default(), "")
}

/// Requires the slug to be typed, so that nobody deletes another team by mistake.
pub(super) async fn delete(
    form: TeamForm<DeleteForm, TeamOwner>,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let TeamForm { at_team, typed } = form;
    if !typed.slug.trim().eq_ignore_ascii_case(&at_team.team().slug) {
        let notices = FormMessages::wrong("slug", t("teams-delete-mismatch"));
        return Ok(ask_delete(&at_team, notices, &typed.slug));
    }
    service::delete_team(&at_team.visitor.app, &at_team.rank, &origin).await?;
    Ok(at_team.visitor.see_other("/teams?done=team-deleted"))
}

fn ask_delete(
    at_team: &TeamPageContext<TeamOwner>,
    notices: FormMessages,
    typed: &str,
) -> HttpResponse {
    let page = DeleteTeamPage {
        frame: at_team.visitor.frame(t("teams-delete")).with(notices),
        path: at_team.path(),
        team_name: &at_team.team().name,
        slug: &at_team.team().slug,
        typed,
    };
    at_team.visitor.show(page.frame.status(), &page)
}
