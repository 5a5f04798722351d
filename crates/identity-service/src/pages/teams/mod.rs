//! Teams with a browser: who is in them, asking people in, and handing over.

mod ending;
mod member;
mod own;
mod people;
mod settings;
mod team;

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::web::ServiceConfig;
use actix_web::{FromRequest, HttpRequest};
use auth_types::TeamRole;
use service_kit::http::endpoint;

use super::form::Form;
use super::visitor::{Member, Visitor};
use crate::error::Error;
use crate::teams::access::{TeamAdmin, TeamMember, TeamOwner};

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/teams").get(own::page))
        .service(
            endpoint("/teams/new")
                .get(own::create_page)
                .post(own::create),
        )
        .service(endpoint("/teams/invitations/accept").post(own::accept))
        .service(endpoint("/teams/invitations/decline").post(own::decline))
        .service(endpoint("/teams/{slug}").get(team::page))
        .service(
            endpoint("/teams/{slug}/settings")
                .get(settings::page)
                .post(settings::save),
        )
        .service(
            endpoint("/teams/{slug}/people")
                .get(people::page)
                .post(people::invite),
        )
        .service(endpoint("/teams/{slug}/people/add").post(people::add))
        .service(endpoint("/teams/{slug}/people/withdraw").post(people::withdraw))
        .service(
            endpoint("/teams/{slug}/members/{username}")
                .get(member::page)
                .post(member::change_role),
        )
        .service(
            endpoint("/teams/{slug}/members/{username}/remove")
                .get(member::remove_page)
                .post(member::remove),
        )
        .service(
            endpoint("/teams/{slug}/members/{username}/hand-over")
                .get(member::hand_over_page)
                .post(member::hand_over),
        )
        .service(
            endpoint("/teams/{slug}/leave")
                .get(ending::leave_page)
                .post(ending::leave),
        )
        .service(
            endpoint("/teams/{slug}/delete")
                .get(ending::delete_page)
                .post(ending::delete),
        );
}

/// Somebody at a page of a team that he is in. Who is not in it is told that there is no such team.
struct AtTeam {
    visitor: Visitor,
    member: TeamMember,
}

/// An admin of the team, or its owner, at a page for those.
struct AdminAtTeam {
    visitor: Visitor,
    admin: TeamAdmin,
}

/// The owner of the team, at a page for him alone.
struct OwnerAtTeam {
    visitor: Visitor,
    owner: TeamOwner,
}

type Extraction<T> = Pin<Box<dyn Future<Output = actix_web::Result<T>>>>;

impl FromRequest for AtTeam {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let member = Member::from_request(req, payload);
        let slug = req.match_info().get("slug").unwrap_or_default().to_owned();
        Box::pin(async move { Ok(Self::find(member.await?, &slug).await?) })
    }
}

impl FromRequest for AdminAtTeam {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let at_team = AtTeam::from_request(req, payload);
        Box::pin(async move { Ok(at_team.await?.into_admin()?) })
    }
}

impl FromRequest for OwnerAtTeam {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let at_team = AtTeam::from_request(req, payload);
        Box::pin(async move { Ok(at_team.await?.into_owner()?) })
    }
}

impl AtTeam {
    async fn find(member: Member, slug: &str) -> Result<Self, Error> {
        let Member { visitor, user } = member;
        let member = TeamMember::find(&visitor.app, user, slug).await?;
        Ok(Self { visitor, member })
    }

    /// Who sent a form of a team's page.
    async fn of_form<T>(form: Form<T>, slug: &str) -> actix_web::Result<(Self, T)> {
        let (member, fields) = form.by_member()?;
        Ok((Self::find(member, slug).await?, fields))
    }

    fn into_admin(self) -> Result<AdminAtTeam, Error> {
        Ok(AdminAtTeam {
            admin: TeamAdmin::new(self.member)?,
            visitor: self.visitor,
        })
    }

    fn into_owner(self) -> Result<OwnerAtTeam, Error> {
        Ok(OwnerAtTeam {
            owner: TeamOwner::new(self.member)?,
            visitor: self.visitor,
        })
    }

    fn path(&self) -> String {
        path_of(&self.member)
    }
}

/// Where the pages of a team begin.
fn path_of(member: &TeamMember) -> String {
    format!("/teams/{}", member.team.slug)
}

/// A role as people read it; templates pass everything by reference.
fn role_name(role: &TeamRole) -> &'static str {
    match role {
        TeamRole::Owner => "Owner",
        TeamRole::Admin => "Admin",
        TeamRole::Member => "Member",
    }
}
