//! Team authorization: as argument types of handlers, and again inside the transaction.

use actix_web::HttpRequest;
use auth_types::{TeamId, TeamRole, UserId};

use super::model::{TeamRow, effective_role};
use super::queries;
use super::slug::Slug;
use crate::app::App;
use crate::auth::{self, CurrentUser, extract_by};
use crate::error::Error;
use crate::transaction::Transaction;

/// A member of the team in the path. Everybody else gets 404, whether or not the team exists.
pub(crate) struct TeamMember {
    pub(crate) caller: CurrentUser,
    pub(crate) team: TeamRow,
    pub(crate) role: TeamRole,
}

/// An admin or the owner of the team in the path.
pub(crate) struct TeamAdmin(pub(crate) TeamMember);

/// The owner of the team in the path.
pub(crate) struct TeamOwner(pub(crate) TeamMember);

extract_by!(TeamMember, Error, require_role);
extract_by!(TeamAdmin, Error, require_role);
extract_by!(TeamOwner, Error, require_role);

/// The minimum role of a caller in a team.
pub(crate) trait RequiredRole: Sized {
    /// Checks that the member has at least this role.
    ///
    /// # Errors
    /// [`Error::Forbidden`] for a lower role.
    fn require(member: TeamMember) -> Result<Self, Error>;

    fn member(&self) -> &TeamMember;
}

impl RequiredRole for TeamMember {
    fn require(member: TeamMember) -> Result<Self, Error> {
        Ok(member)
    }

    fn member(&self) -> &TeamMember {
        self
    }
}

impl RequiredRole for TeamAdmin {
    fn require(member: TeamMember) -> Result<Self, Error> {
        check(member.role, TeamRole::Admin)?;
        Ok(Self(member))
    }

    fn member(&self) -> &TeamMember {
        &self.0
    }
}

impl RequiredRole for TeamOwner {
    fn require(member: TeamMember) -> Result<Self, Error> {
        check(member.role, TeamRole::Owner)?;
        Ok(Self(member))
    }

    fn member(&self) -> &TeamMember {
        &self.0
    }
}

/// The account that changes a team. Its role is read again inside the transaction, because it may have changed since the
/// request was authorized.
#[derive(Clone, Copy)]
pub(crate) struct TeamActor {
    pub(crate) team_id: TeamId,
    pub(crate) user_id: UserId,
}

impl TeamActor {
    pub(crate) fn from_member(member: &TeamMember) -> Self {
        Self {
            team_id: member.team.id,
            user_id: member.caller.account.id,
        }
    }

    /// Locks the team for this transaction, and returns its current row and the actor's role.
    pub(crate) fn lock(
        self,
        tx: &mut Transaction<'_>,
        needed: TeamRole,
    ) -> Result<(TeamRow, TeamRole), Error> {
        let team = queries::lock_team(tx.db, self.team_id, tx.now.naive_utc())?
            .ok_or(Error::TeamNotFound)?;
        let stored = queries::find_stored_role(tx.db, self.team_id, self.user_id)?
            .ok_or(Error::TeamNotFound)?;
        let role = effective_role(team.owner_id, self.user_id, &stored)?;
        check(role, needed)?;
        Ok((team, role))
    }
}

async fn require_role<R: RequiredRole>(req: &HttpRequest) -> Result<R, Error> {
    let caller = auth::current_user(req).await?;
    let slug = req.match_info().get("slug").unwrap_or_default();
    R::require(TeamMember::find(&*App::from_request(req)?, caller, slug).await?)
}

impl TeamMember {
    /// Finds the caller as a member of the team with this slug.
    ///
    /// # Errors
    /// [`Error::TeamNotFound`], also for a team that the caller is not in.
    pub(crate) async fn find(app: &App, caller: CurrentUser, slug: &str) -> Result<Self, Error> {
        let slug = Slug::lookup(slug).ok_or(Error::TeamNotFound)?;
        let user_id = caller.account.id;
        let found = app
            .read(move |db| queries::find_team_of(db, &slug.lower(), user_id))
            .await?;
        let (team, stored) = found.ok_or(Error::TeamNotFound)?;
        let role = effective_role(team.owner_id, user_id, &stored)?;
        Ok(Self { caller, team, role })
    }
}

fn check(role: TeamRole, needed: TeamRole) -> Result<(), Error> {
    if role >= needed {
        return Ok(());
    }
    Err(Error::Forbidden(match needed {
        TeamRole::Owner => "only the owner of the team may do this",
        _ => "only an admin or the owner of the team may do this",
    }))
}
