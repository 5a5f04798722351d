//! Who may do what in a team, as argument types of handlers.

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use auth_types::TeamRole;

use super::model::{TeamRow, effective_role};
use super::queries;
use super::service::NOT_ENOUGH;
use super::slug::Slug;
use crate::app::App;
use crate::auth::{self, CurrentUser, Extraction};
use crate::error::Error;

/// Somebody in the team that the path names. Who is not in it learns nothing, not even whether it exists.
pub(crate) struct TeamMember {
    pub(crate) caller: CurrentUser,
    pub(crate) team: TeamRow,
    pub(crate) role: TeamRole,
}

/// An admin or the owner of the team that the path names.
pub(crate) struct TeamAdmin(pub(crate) TeamMember);

impl FromRequest for TeamMember {
    type Error = Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        let req = req.clone();
        Box::pin(async move { team_member(&req).await })
    }
}

impl FromRequest for TeamAdmin {
    type Error = Error;
    type Future = Extraction<Self>;

    fn from_request(req: &HttpRequest, _: &mut Payload) -> Self::Future {
        let req = req.clone();
        Box::pin(async move {
            let member = team_member(&req).await?;
            if member.role < TeamRole::Admin {
                return Err(NOT_ENOUGH);
            }
            Ok(Self(member))
        })
    }
}

async fn team_member(req: &HttpRequest) -> Result<TeamMember, Error> {
    let caller = auth::current_user(req).await?;
    let app = App::of(req)?;
    let slug = req
        .match_info()
        .get("slug")
        .and_then(Slug::lookup)
        .ok_or(Error::TeamNotFound)?;
    let user_id = caller.account.id;
    let found = app
        .pool
        .read(move |db| Ok::<_, Error>(queries::find_team_of(db, &slug.lower(), user_id)?))
        .await?;
    let (team, stored) = found.ok_or(Error::TeamNotFound)?;
    let role = effective_role(team.owner_id, user_id, &stored)?;
    Ok(TeamMember { caller, team, role })
}
