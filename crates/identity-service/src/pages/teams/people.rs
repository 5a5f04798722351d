//! Asking people into a team: by mail, or by the name of their account.

use actix_web::HttpResponse;
use askama::Template;
use serde::Deserialize;
use service_kit::http::{Path, Query};

use super::at_team::{AdminAtTeam, AtTeam, path_of};
use crate::error::Error;
use crate::invitations::service;
use crate::invitations::wire::{Invitation, InvitationsQuery, InviteRequest};
use crate::origin::Origin;
use crate::pages::form::Form;
use crate::pages::layout::Frame;
use crate::pages::notices::Notices;
use crate::pages::text::{self, Pager};
use crate::teams::members;
use crate::teams::wire::AddMemberRequest;

const PAGE: i64 = 50;

#[derive(Template)]
#[template(path = "teams/people.html")]
struct PeoplePage<'a> {
    frame: Frame,
    notices: Notices,
    path: String,
    team_name: &'a str,
    invitations: Vec<Invitation>,
    pager: Pager,
    /// Whether people can be added without being asked.
    direct_add: bool,
    typed: Typed<'a>,
}

/// What stands in the fields of the two forms.
#[derive(Default)]
struct Typed<'a> {
    email: &'a str,
    username: &'a str,
    as_admin: bool,
}

#[derive(Deserialize)]
pub(super) struct PeopleQuery {
    done: Option<String>,
    #[serde(default)]
    offset: i64,
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

#[derive(Deserialize)]
pub(super) struct WithdrawForm {
    id: String,
}

pub(super) async fn page(
    at_team: AdminAtTeam,
    query: Query<PeopleQuery>,
) -> Result<HttpResponse, Error> {
    let notices = Notices::done(query.0.done.as_deref());
    show(&at_team, notices, Typed::default(), query.0.offset).await
}

pub(super) async fn invite(
    form: Form<InviteForm>,
    slug: Path<(String,)>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (at_team, typed) = AtTeam::of_form(form, &slug.0.0).await?;
    let at_team = at_team.into_admin()?;
    let request = InviteRequest {
        email: typed.email.trim().to_owned(),
        role: Some(typed.role.clone()),
    };
    match service::invite(&at_team.visitor.app, &at_team.admin, request, &origin).await {
        Ok(_) => Ok(back(&at_team, "invited")),
        Err(error) => {
            let notices = Notices::of(error, &["email"])?;
            let typed = Typed {
                email: &typed.email,
                as_admin: typed.role == "admin",
                ..Typed::default()
            };
            Ok(show(&at_team, notices, typed, 0).await?)
        }
    }
}

pub(super) async fn add(
    form: Form<AddForm>,
    slug: Path<(String,)>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (at_team, typed) = AtTeam::of_form(form, &slug.0.0).await?;
    let at_team = at_team.into_admin()?;
    let request = AddMemberRequest {
        username: typed.username.trim().to_owned(),
        role: Some(typed.role),
    };
    match members::add_member(&at_team.visitor.app, &at_team.admin, request, &origin).await {
        Ok(_) => {
            let path = format!("{}?done=added", path_of(&at_team.admin.0));
            Ok(at_team.visitor.see_other(&path))
        }
        Err(error) => {
            let notices = Notices::of(error, &["username"])?;
            let typed = Typed {
                username: &typed.username,
                ..Typed::default()
            };
            Ok(show(&at_team, notices, typed, 0).await?)
        }
    }
}

pub(super) async fn withdraw(
    form: Form<WithdrawForm>,
    slug: Path<(String,)>,
    origin: Origin,
) -> actix_web::Result<HttpResponse> {
    let (at_team, WithdrawForm { id }) = AtTeam::of_form(form, &slug.0.0).await?;
    let at_team = at_team.into_admin()?;
    match service::revoke(&at_team.visitor.app, &at_team.admin, &id, &origin).await {
        Ok(()) => Ok(back(&at_team, "withdrawn")),
        Err(error) => {
            let notices = Notices::of(error, &[])?;
            Ok(show(&at_team, notices, Typed::default(), 0).await?)
        }
    }
}

fn back(at_team: &AdminAtTeam, done: &str) -> HttpResponse {
    let path = format!("{}/people?done={done}", path_of(&at_team.admin.0));
    at_team.visitor.see_other(&path)
}

async fn show(
    at_team: &AdminAtTeam,
    notices: Notices,
    typed: Typed<'_>,
    offset: i64,
) -> Result<HttpResponse, Error> {
    let status = notices.status();
    let member = &at_team.admin.0;
    let wanted = InvitationsQuery::pending(PAGE, offset);
    let found = service::list_of_team(&at_team.visitor.app, &at_team.admin, wanted).await?;
    let path = path_of(member);
    let page = PeoplePage {
        frame: at_team.visitor.frame("Add people"),
        notices,
        team_name: &member.team.name,
        pager: Pager::by_offset(&format!("{path}/people"), offset, PAGE, found.total),
        invitations: found.invitations,
        direct_add: at_team.visitor.app.teams.direct_add,
        path,
        typed,
    };
    Ok(at_team.visitor.show(status, &page))
}
