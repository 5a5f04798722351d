//! One member of a team: changing their role, removing them, and making them the owner.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use messages::t;
use serde::Deserialize;
use service_kit::http::Path;

use super::team_context::{TeamForm, TeamPageContext};
use crate::pages::form::EmptyForm;
use crate::pages::form_messages::{FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::request_context::RequestContext;
use crate::teams::authorization::{RequiredRole, TeamAdmin, TeamOwner};
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
    team: TeamPageContext<TeamAdmin>,
    path: MemberPath,
) -> actix_web::Result<HttpResponse> {
    show(&team, &path.0.1, FormMessages::default()).await
}

pub(super) async fn change_role(
    form: TeamForm<RoleForm, TeamAdmin>,
    path: MemberPath,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (team, username) = (form.team, path.0.1);
    // Handing the team over has a page of its own, which explains it.
    let role = match form.input.role.as_str() {
        "admin" => TeamRole::Admin,
        "member" => TeamRole::Member,
        _ => {
            let messages = FormMessages::for_field("role", t("teams-role-unknown"));
            return show(&team, &username, messages).await;
        }
    };
    let app = &team.visitor.app;
    match members::change_role(app, &team.member, &username, role.as_str(), &context).await {
        Ok(_) => Ok(team.done("", "role")),
        Err(error) => show(&team, &username, messages_for(error, &["role"])?).await,
    }
}

async fn show(
    team: &TeamPageContext<TeamAdmin>,
    username: &str,
    messages: FormMessages,
) -> actix_web::Result<HttpResponse> {
    let reader = team.member();
    let member = members::find_member(&team.visitor.app, reader, username).await?;
    let page = MemberPage {
        frame: team.visitor.frame(&member.username).with(messages),
        path: team.path(),
        team_name: &reader.team.name,
        is_owner: reader.role == TeamRole::Owner,
        member,
    };
    Ok(team.visitor.show(page.frame.status(), &page))
}

pub(super) async fn remove_page(
    team: TeamPageContext<TeamAdmin>,
    path: MemberPath,
) -> actix_web::Result<HttpResponse> {
    ask(&team, &path.0.1, FormMessages::default(), false).await
}

pub(super) async fn remove(
    form: TeamForm<EmptyForm, TeamAdmin>,
    path: MemberPath,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (team, username) = (form.team, path.0.1);
    let (app, admin) = (&team.visitor.app, team.member());
    let own_name = &admin.caller.account.username;
    match members::remove_member(app, admin, &username, &context).await {
        Ok(()) if own_name.eq_ignore_ascii_case(&username) => {
            Ok(team.visitor.see_other("/teams?done=left"))
        }
        Ok(()) => Ok(team.done("", "removed")),
        Err(error) => ask(&team, &username, messages_for(error, &[])?, false).await,
    }
}

pub(super) async fn hand_over_page(
    team: TeamPageContext<TeamOwner>,
    path: MemberPath,
) -> actix_web::Result<HttpResponse> {
    ask(&team, &path.0.1, FormMessages::default(), true).await
}

pub(super) async fn hand_over(
    form: TeamForm<EmptyForm, TeamAdmin>,
    path: MemberPath,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (team, username) = (form.team, path.0.1);
    let (app, role) = (&team.visitor.app, TeamRole::Owner.as_str());
    match members::change_role(app, &team.member, &username, role, &context).await {
        Ok(_) => Ok(team.done("", "handed-over")),
        Err(error) => ask(&team, &username, messages_for(error, &[])?, true).await,
    }
}

async fn ask<R: RequiredRole>(
    team: &TeamPageContext<R>,
    username: &str,
    messages: FormMessages,
    hands_over: bool,
) -> actix_web::Result<HttpResponse> {
    let member = members::find_member(&team.visitor.app, team.member(), username).await?;
    let title = match hands_over {
        true => t("teams-transfer"),
        false => t("teams-remove"),
    };
    let page = MemberConfirmPage {
        frame: team.visitor.frame(title).with(messages),
        back: format!("{}/members/{}", team.path(), member.username),
        team_name: &team.team().name,
        member,
        hands_over,
    };
    Ok(team.visitor.show(page.frame.status(), &page))
}
