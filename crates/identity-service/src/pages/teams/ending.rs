//! Leaving a team, and the end of one.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use serde::Deserialize;
use service_kit::http::Path;

use super::at_team::{AtTeam, OwnerAtTeam, path_of};
use crate::origin::Origin;
use crate::pages::form::{Empty, Form};
use crate::pages::layout::Frame;
use crate::pages::notices::Notices;
use crate::teams::{members, service};

#[derive(Template)]
#[template(path = "teams/leave.html")]
struct LeavePage<'a> {
    frame: Frame,
    notices: Notices,
    path: String,
    team_name: &'a str,
    is_owner: bool,
}

#[derive(Template)]
#[template(path = "teams/delete.html")]
struct DeletePage<'a> {
    frame: Frame,
    notices: Notices,
    path: String,
    team_name: &'a str,
    slug: &'a str,
    typed: &'a str,
}

#[derive(Deserialize)]
pub(super) struct DeleteForm {
    slug: String,
}

pub(super) async fn leave_page(at_team: AtTeam) -> HttpResponse {
    ask_leave(&at_team, Notices::none())
}

pub(super) async fn leave(
    form: Form<Empty>,
    slug: Path<(String,)>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (at_team, _) = AtTeam::of_form(form, &slug.0.0).await?;
    match members::leave(&at_team.visitor.app, &at_team.member, &origin).await {
        Ok(()) => Ok(at_team.visitor.see_other("/teams?done=left")),
        Err(error) => Ok(ask_leave(&at_team, Notices::of(error, &[])?)),
    }
}

fn ask_leave(at_team: &AtTeam, notices: Notices) -> HttpResponse {
    let status = notices.status();
    let page = LeavePage {
        frame: at_team.visitor.frame("Leave the team"),
        notices,
        path: at_team.path(),
        team_name: &at_team.member.team.name,
        is_owner: at_team.member.role == TeamRole::Owner,
    };
    at_team.visitor.show(status, &page)
}

pub(super) async fn delete_page(at_team: OwnerAtTeam) -> HttpResponse {
    ask_delete(&at_team, Notices::none(), "")
}

/// Wants the team's name in addresses typed, so that it is this team that is meant.
pub(super) async fn delete(
    form: Form<DeleteForm>,
    slug: Path<(String,)>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (at_team, typed) = AtTeam::of_form(form, &slug.0.0).await?;
    let at_team = at_team.into_owner()?;
    let wanted = &at_team.owner.0.team.slug;
    if !typed.slug.trim().eq_ignore_ascii_case(wanted) {
        let notices = Notices::wrong("slug", "This is not the short name of the team");
        return Ok(ask_delete(&at_team, notices, &typed.slug));
    }
    service::delete_team(&at_team.visitor.app, &at_team.owner, &origin).await?;
    Ok(at_team.visitor.see_other("/teams?done=team-deleted"))
}

fn ask_delete(at_team: &OwnerAtTeam, notices: Notices, typed: &str) -> HttpResponse {
    let status = notices.status();
    let member = &at_team.owner.0;
    let page = DeletePage {
        frame: at_team.visitor.frame("Delete the team"),
        notices,
        path: path_of(member),
        team_name: &member.team.name,
        slug: &member.team.slug,
        typed,
    };
    at_team.visitor.show(status, &page)
}
