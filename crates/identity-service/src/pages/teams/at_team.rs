//! Who may be at a page of a team, as argument types of handlers.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use auth_types::TeamRole;

use crate::error::Error;
use crate::pages::form::Form;
use crate::pages::visitor::{Member, Visitor};
use crate::teams::access::{TeamAdmin, TeamMember, TeamOwner};

/// A member on a page of their team. Anyone else is told that there is no such team.
pub(super) struct AtTeam {
    pub(super) visitor: Visitor,
    pub(super) member: TeamMember,
}

/// An admin of the team, or its owner, at a page for those.
pub(super) struct AdminAtTeam {
    pub(super) visitor: Visitor,
    pub(super) admin: TeamAdmin,
}

/// The owner of the team, on a page for the owner alone.
pub(super) struct OwnerAtTeam {
    pub(super) visitor: Visitor,
    pub(super) owner: TeamOwner,
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
    pub(super) async fn of_form<T>(form: Form<T>, slug: &str) -> actix_web::Result<(Self, T)> {
        let (member, fields) = form.by_member()?;
        Ok((Self::find(member, slug).await?, fields))
    }

    pub(super) fn into_admin(self) -> Result<AdminAtTeam, Error> {
        Ok(AdminAtTeam {
            admin: TeamAdmin::new(self.member)?,
            visitor: self.visitor,
        })
    }

    pub(super) fn into_owner(self) -> Result<OwnerAtTeam, Error> {
        Ok(OwnerAtTeam {
            owner: TeamOwner::new(self.member)?,
            visitor: self.visitor,
        })
    }

    pub(super) fn path(&self) -> String {
        path_of(&self.member)
    }
}

/// Where the pages of a team begin.
pub(super) fn path_of(member: &TeamMember) -> String {
    format!("/teams/{}", member.team.slug)
}

/// A role as people read it; templates pass everything by reference.
pub(super) fn role_name(role: &TeamRole) -> &'static str {
    match role {
        TeamRole::Owner => "Owner",
        TeamRole::Admin => "Admin",
        TeamRole::Member => "Member",
    }
}
