//! Argument types for the pages of a team: who may see one, and who sent its form.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::pages::form::Form;
use crate::pages::visitor::{SignedInVisitor, Visitor};
use crate::teams::authorization::{RequiredRole, TeamMember};
use crate::teams::model::TeamRow;

/// A member on a page of their team, with the role that the page requires. Anyone else gets 404, a lower role 403.
pub(super) struct TeamPageContext<R> {
    pub(super) visitor: Visitor,
    pub(super) member: R,
}

/// A form of a team's page, and its sender.
pub(super) struct TeamForm<T, R> {
    pub(super) team: TeamPageContext<R>,
    pub(super) input: T,
}

type Extraction<T> = Pin<Box<dyn Future<Output = actix_web::Result<T>>>>;

impl<R: RequiredRole + 'static> FromRequest for TeamPageContext<R> {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (caller, slug) = (SignedInVisitor::from_request(req, payload), slug_of(req));
        Box::pin(async move { Ok(Self::find(caller.await?, &slug).await?) })
    }
}

impl<T: DeserializeOwned + 'static, R: RequiredRole + 'static> FromRequest for TeamForm<T, R> {
    type Error = actix_web::Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (form, slug) = (Form::<T>::from_request(req, payload), slug_of(req));
        Box::pin(async move {
            let (caller, input) = form.await?.by_caller()?;
            let team = TeamPageContext::find(caller, &slug).await?;
            Ok(Self { team, input })
        })
    }
}

fn slug_of(req: &HttpRequest) -> String {
    req.match_info().get("slug").unwrap_or_default().to_owned()
}

impl<R: RequiredRole> TeamPageContext<R> {
    async fn find(caller: SignedInVisitor, slug: &str) -> Result<Self, Error> {
        let SignedInVisitor { visitor, user } = caller;
        let member = R::require(TeamMember::find(&visitor.app, user, slug).await?)?;
        Ok(Self { visitor, member })
    }

    pub(super) fn member(&self) -> &TeamMember {
        self.member.member()
    }

    pub(super) fn team(&self) -> &TeamRow {
        &self.member().team
    }

    /// Returns the path that the team's pages start with.
    pub(super) fn path(&self) -> String {
        format!("/teams/{}", self.team().slug)
    }

    /// Redirects the browser to one of these pages, which shows the message `done`.
    pub(super) fn done(&self, page: &str, done: &str) -> HttpResponse {
        let path = format!("{}{page}?done={done}", self.path());
        self.visitor.see_other(&path)
    }
}
