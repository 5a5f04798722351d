//! One member of a team: his role, removing him, and making him the owner.

use actix_web::HttpResponse;
use askama::Template;
use auth_types::TeamRole;
use serde::Deserialize;
use service_kit::http::Path;

use super::at_team::{AdminAtTeam, AtTeam, OwnerAtTeam, path_of};
use crate::error::Error;
use crate::origin::Origin;
use crate::pages::form::{Empty, Form};
use crate::pages::layout::Frame;
use crate::pages::notices::Notices;
use crate::pages::text;
use crate::pages::visitor::Visitor;
use crate::teams::access::TeamMember;
use crate::teams::members;
use crate::teams::wire::Member;

#[derive(Template)]
#[template(path = "teams/member.html")]
struct MemberPage<'a> {
    frame: Frame,
    notices: Notices,
    path: String,
    team_name: &'a str,
    member: Member,
    is_owner: bool,
}

/// A question before something is done that is not easily undone.
#[derive(Template)]
#[template(path = "teams/confirm.html")]
struct ConfirmPage<'a> {
    frame: Frame,
    notices: Notices,
    /// Of the member's page.
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
type Segments = Path<(String, String)>;

pub(super) async fn page(at_team: AdminAtTeam, path: Segments) -> Result<HttpResponse, Error> {
    show(&at_team, &path.0.1, Notices::none()).await
}

pub(super) async fn change_role(
    form: Form<RoleForm>,
    path: Segments,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (slug, username) = path.0;
    let (at_team, RoleForm { role }) = AtTeam::of_form(form, &slug).await?;
    let at_team = at_team.into_admin()?;
    let (app, admin) = (&at_team.visitor.app, &at_team.admin);
    // The ownership has a page of its own, which says what it means.
    let role = match role.as_str() {
        "admin" => TeamRole::Admin,
        "member" => TeamRole::Member,
        _ => {
            let notices = Notices::wrong("role", "Must be admin or member");
            return Ok(show(&at_team, &username, notices).await?);
        }
    };
    match members::change_role(app, admin, &username, role.as_str(), &origin).await {
        Ok(_) => Ok(back_to_team(&at_team.visitor, &admin.0, "role")),
        Err(error) => {
            let notices = Notices::of(error, &["role"])?;
            Ok(show(&at_team, &username, notices).await?)
        }
    }
}

async fn show(
    at_team: &AdminAtTeam,
    username: &str,
    notices: Notices,
) -> Result<HttpResponse, Error> {
    let status = notices.status();
    let reader = &at_team.admin.0;
    let member = members::find_member(&at_team.visitor.app, reader, username).await?;
    let page = MemberPage {
        frame: at_team.visitor.frame(&member.username),
        notices,
        path: path_of(reader),
        team_name: &reader.team.name,
        is_owner: reader.role == TeamRole::Owner,
        member,
    };
    Ok(at_team.visitor.show(status, &page))
}

pub(super) async fn remove_page(
    at_team: AdminAtTeam,
    path: Segments,
) -> Result<HttpResponse, Error> {
    let AdminAtTeam { visitor, admin } = at_team;
    ask(&visitor, &admin.0, &path.0.1, Notices::none(), false).await
}

pub(super) async fn remove(
    form: Form<Empty>,
    path: Segments,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (slug, username) = path.0;
    let (at_team, _) = AtTeam::of_form(form, &slug).await?;
    let AdminAtTeam { visitor, admin } = at_team.into_admin()?;
    let admin = admin.0;
    let is_self = admin
        .caller
        .account
        .username
        .eq_ignore_ascii_case(&username);
    match members::remove_member(&visitor.app, &admin, &username, &origin).await {
        Ok(()) if is_self => Ok(visitor.see_other("/teams?done=left")),
        Ok(()) => Ok(back_to_team(&visitor, &admin, "removed")),
        Err(error) => {
            let notices = Notices::of(error, &[])?;
            Ok(ask(&visitor, &admin, &username, notices, false).await?)
        }
    }
}

pub(super) async fn hand_over_page(
    at_team: OwnerAtTeam,
    path: Segments,
) -> Result<HttpResponse, Error> {
    let OwnerAtTeam { visitor, owner } = at_team;
    ask(&visitor, &owner.0, &path.0.1, Notices::none(), true).await
}

pub(super) async fn hand_over(
    form: Form<Empty>,
    path: Segments,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (slug, username) = path.0;
    let (at_team, _) = AtTeam::of_form(form, &slug).await?;
    let AdminAtTeam { visitor, admin } = at_team.into_admin()?;
    let role = TeamRole::Owner.as_str();
    match members::change_role(&visitor.app, &admin, &username, role, &origin).await {
        Ok(_) => Ok(back_to_team(&visitor, &admin.0, "handed-over")),
        Err(error) => {
            let notices = Notices::of(error, &[])?;
            Ok(ask(&visitor, &admin.0, &username, notices, true).await?)
        }
    }
}

async fn ask(
    visitor: &Visitor,
    reader: &TeamMember,
    username: &str,
    notices: Notices,
    hands_over: bool,
) -> Result<HttpResponse, Error> {
    let status = notices.status();
    let member = members::find_member(&visitor.app, reader, username).await?;
    let title = match hands_over {
        true => "Hand the team over",
        false => "Remove a member",
    };
    let page = ConfirmPage {
        frame: visitor.frame(title),
        notices,
        back: format!("{}/members/{}", path_of(reader), member.username),
        team_name: &reader.team.name,
        member,
        hands_over,
    };
    Ok(visitor.show(status, &page))
}

fn back_to_team(visitor: &Visitor, member: &TeamMember, done: &str) -> HttpResponse {
    visitor.see_other(&format!("{}?done={done}", path_of(member)))
}
