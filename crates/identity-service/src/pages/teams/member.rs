//! One member of a team: changing their role, removing them, and making them the owner.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use messages::t;
use serde::Deserialize;
use service_kit::http::Path;

use super::at_team::{TeamForm, TeamPageContext};
use crate::origin::RequestContext;
use crate::pages::form::EmptyForm;
use crate::pages::layout::PageFrame;
use crate::pages::notices::{self, FormMessages};
use crate::pages::text;
use crate::teams::access::{RequiredRole, TeamAdmin, TeamOwner};
use crate::teams::members;
use crate::teams::wire::Member;

#[derive(Template)]
#[template(path = "teams/member.html")]
struct MemberPage<'a> {
    frame: PageFrame,
    path: String,
    team_name: &'a str,
    member: Member,
    is_owner: bool,
}

/// The confirmation of an action that is hard to undo.
#[derive(Template)]
#[template(path = "teams/confirm.html")]
struct MemberConfirmPage<'a> {
    frame: PageFrame,
    /// The path of the member's page.
    back: String,
    team_name: &'a str,
    member: Member,
    hands_over: bool,
}

#[derive(Deserialize)]
pub(super) struct RoleForm {
    role: String,
}

/// The team and the member in the path.
type MemberPath = Path<(String, String)>;

pub(super) async fn page(
    at_team: TeamPageContext<TeamAdmin>,
    path: MemberPath,
) -> actix_web::Result<HttpResponse> {
    show(&at_team, &path.0.1, FormMessages::default()).await
}

pub(super) async fn change_role(
    form: TeamForm<RoleForm, TeamAdmin>,
    path: MemberPath,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (at_team, username) = (form.at_team, path.0.1);
    // Handing the team over has a page of its own, which explains it.
    let role = match form.typed.role.as_str() {
        "admin" => TeamRole::Admin,
        "member" => TeamRole::Member,
        _ => {
            let notices = FormMessages::wrong("role", t("teams-role-unknown"));
            return show(&at_team, &username, notices).await;
        }
    };
    let app = &at_team.visitor.app;
    match members::change_role(app, &at_team.rank, &username, role.as_str(), &origin).await {
        Ok(_) => Ok(at_team.done("", "role")),
        Err(error) => show(&at_team, &username, notices::of(error, &["role"])?).await,
    }
}

async fn show(
    at_team: &TeamPageContext<TeamAdmin>,
    username: &str,
    notices: FormMessages,
) -> actix_web::Result<HttpResponse> {
    let reader = at_team.member();
    let member = members::find_member(&at_team.visitor.app, reader, username).await?;
    let page = MemberPage {
        frame: at_team.visitor.frame(&member.username).with(notices),
        path: at_team.path(),
        team_name: &reader.team.name,
        is_owner: reader.role == TeamRole::Owner,
        member,
    };
    Ok(at_team.visitor.show(page.frame.status(), &page))
}

pub(super) async fn remove_page(
    at_team: TeamPageContext<TeamAdmin>,
    path: MemberPath,
) -> actix_web::Result<HttpResponse> {
    ask(&at_team, &path.0.1, FormMessages::default(), false).await
}

pub(super) async fn remove(
    form: TeamForm<EmptyForm, TeamAdmin>,
    path: MemberPath,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (at_team, username) = (form.at_team, path.0.1);
    let (app, admin) = (&at_team.visitor.app, at_team.member());
    let own_name = &admin.caller.account.username;
    match members::remove_member(app, admin, &username, &origin).await {
        Ok(()) if own_name.eq_ignore_ascii_case(&username) => {
            Ok(at_team.visitor.see_other("/teams?done=left"))
        }
        Ok(()) => Ok(at_team.done("", "removed")),
        Err(error) => ask(&at_team, &username, notices::of(error, &[])?, false).await,
    }
}

pub(super) async fn hand_over_page(
    at_team: TeamPageContext<TeamOwner>,
    path: MemberPath,
) -> actix_web::Result<HttpResponse> {
    ask(&at_team, &path.0.1, FormMessages::default(), true).await
}

pub(super) async fn hand_over(
    form: TeamForm<EmptyForm, TeamAdmin>,
    path: MemberPath,
    origin: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (at_team, username) = (form.at_team, path.0.1);
    let (app, role) = (&at_team.visitor.app, TeamRole::Owner.as_str());
    match members::change_role(app, &at_team.rank, &username, role, &origin).await {
        Ok(_) => Ok(at_team.done("", "handed-over")),
        Err(error) => ask(&at_team, &username, notices::of(error, &[])?, true).await,
    }
}

async fn ask<R: RequiredRole>(
    at_team: &TeamPageContext<R>,
    username: &str,
    notices: FormMessages,
    hands_over: bool,
) -> actix_web::Result<HttpResponse> {
    let member = members::find_member(&at_team.visitor.app, at_team.member(), username).await?;
    let title = match hands_over {
        true => t("teams-transfer"),
        false => t("teams-remove"),
    };
    let page = MemberConfirmPage {
        frame: at_team.visitor.frame(title).with(notices),
        back: format!("{}/members/{}", at_team.path(), member.username),
        team_name: &at_team.team().name,
        member,
        hands_over,
    };
    Ok(at_team.visitor.show(page.frame.status(), &page))
}
