//! The invitee's operations: reading an invitation, joining, and declining.

use auth_types::{Scope, TeamRole, UserId};
use serde_json::json;

use super::model::{InvitationRef, OpenInvitation};
use super::queries;
use super::wire::{AcceptResponse, Invitation, InvitationStatus, InvitationsResponse};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::teams::model::{TeamRow, effective_role};
use crate::teams::team_limits;
use crate::teams::wire::PageQuery;
use crate::transaction::Transaction;
use crate::{accounts, teams};

/// Returns the pending invitations for the account's verified address. An unverified one may be somebody else's.
pub(crate) async fn list_own(
    app: &App,
    caller: &CurrentUser,
    page: PageQuery,
) -> Result<InvitationsResponse, Error> {
    let page = page.bounds()?;
    let (user_id, now) = (caller.account.id, app.clock.now_naive());
    let sees_email = caller.token.access.sees(Scope::Email);
    app.pool
        .read(move |db| {
            let Some(email) = teams::queries::find_verified_address(db, user_id)? else {
                return Ok(InvitationsResponse::default());
            };
            let email = email.to_ascii_lowercase();
            let found = queries::list_pending(db, &email, now, page)?;
            InvitationsResponse::new(found, now, sees_email)
        })
        .await
}

/// Returns an invitation to anybody who has its mail. An id is no secret, and shows nothing.
pub(crate) async fn find_invitation(app: &App, token: String) -> Result<Option<Invitation>, Error> {
    let InvitationRef::Token(hash) = InvitationRef::parse(token) else {
        return Ok(None);
    };
    let now = app.clock.now_naive();
    app.pool
        .read(move |db| {
            let found = queries::find_by_token(db, &hash)?;
            found.map(|row| row.into_wire(now)).transpose()
        })
        .await
}

/// Returns the slug of the team that the caller joined with this token, while they are a member.
pub(crate) async fn find_joined(
    app: &App,
    caller: &CurrentUser,
    token: &str,
) -> Result<Option<String>, Error> {
    let InvitationRef::Token(hash) = InvitationRef::parse(token.to_owned()) else {
        return Ok(None);
    };
    let user_id = caller.account.id;
    app.read(move |db| queries::find_joined(db, &hash, user_id))
        .await
}

/// Joins the team. An existing member keeps their role, and the response says that they are a member.
pub(crate) async fn accept(
    app: &App,
    caller: &CurrentUser,
    reference: InvitationRef,
    context: &RequestContext,
) -> Result<AcceptResponse, Error> {
    let (user_id, caps) = (caller.account.id, app.teams);
    let (reference, invitation) = find(app, reference).await?;
    app.transact(&context.clone().for_caller(caller), move |tx| {
        let locked = LockedInvitation::open(tx, &reference, invitation, user_id)?;
        let (team, invitation) = (&locked.team, &locked.invitation);
        let member = teams::queries::find_stored_role(tx.db, team.id, user_id)?.is_some();
        // A member who follows the link in somebody else's mail must not use it up.
        if locked.addressed || !member {
            let is_closed = locked.close(tx, InvitationStatus::Accepted)?;
            if !is_closed && !member {
                return Err(Error::InvitationGone);
            }
        }
        if !member {
            let (now, role) = (tx.now.naive_utc(), given_role(tx, team, invitation)?);
            teams::queries::delete_departure(tx.db, team.id, user_id)?;
            teams::queries::insert_member(tx.db, team.id, user_id, role, now)?;
            team_limits::check_joined(tx.db, caps, user_id)?;
            tx.membership_changed(user_id, team.to_ref(), Some(role))?;
        }
        let size = teams::queries::count_members(tx.db, team.id)?;
        Ok(AcceptResponse {
            message: match member {
                true => "You are already a member of this team",
                false => "You joined the team",
            },
            team: locked.team.into_wire(size),
        })
    })
    .await
}

/// Declines the invitation for good.
pub(crate) async fn decline(
    app: &App,
    caller: &CurrentUser,
    reference: InvitationRef,
    context: &RequestContext,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    let (reference, invitation) = find(app, reference).await?;
    app.transact(&context.clone().for_caller(caller), move |tx| {
        let locked = LockedInvitation::open(tx, &reference, invitation, user_id)?;
        match locked.close(tx, InvitationStatus::Declined)? {
            true => Ok(()),
            false => Err(Error::InvitationGone),
        }
    })
    .await
}

/// Finds an invitation without writing, so that guessing tokens blocks nobody.
async fn find(
    app: &App,
    reference: InvitationRef,
) -> Result<(InvitationRef, OpenInvitation), Error> {
    app.pool
        .read(move |db| {
            let invitation =
                queries::find_open(db, &reference)?.ok_or(Error::InvitationNotFound)?;
            Ok((reference, invitation))
        })
        .await
}

/// An invitation that the caller may accept or decline, with its team.
struct LockedInvitation {
    team: TeamRow,
    invitation: OpenInvitation,
    by: UserId,
    /// Whether it was sent to the caller's verified address.
    addressed: bool,
}

impl LockedInvitation {
    /// Locks the team, then the account. The token alone is sufficient; an id, which is no secret, requires the
    /// verified address.
    fn open(
        tx: &mut Transaction<'_>,
        reference: &InvitationRef,
        seen: OpenInvitation,
        by: UserId,
    ) -> Result<Self, Error> {
        let now = tx.now.naive_utc();
        let team = teams::queries::lock_team(tx.db, seen.team_id, now)?
            .ok_or(Error::InvitationNotFound)?;
        // Read again under the lock, because a renewed invitation has another token.
        let invitation = queries::find_open(tx.db, reference)?.ok_or(Error::InvitationNotFound)?;
        let account = accounts::queries::lock_active(tx.db, by)?.ok_or(Error::TokenRevoked)?;
        let addressed = account.email_verified && account.has_email(&invitation.email_lower);
        if !addressed && matches!(reference, InvitationRef::Id(_)) {
            return Err(Error::InvitationNotFound);
        }
        Ok(Self {
            team,
            invitation,
            by,
            addressed,
        })
    }

    /// Closes the invitation. Returns false if it was closed before or has expired.
    fn close(&self, tx: &mut Transaction<'_>, status: InvitationStatus) -> Result<bool, Error> {
        let (action, accepted_by) = match status {
            InvitationStatus::Accepted => (AuditAction::INVITATION_ACCEPTED, Some(self.by)),
            _ => (AuditAction::INVITATION_DECLINED, None),
        };
        let now = tx.now.naive_utc();
        if !queries::set_status(tx.db, &self.invitation.id, status, accepted_by, now)? {
            return Ok(false);
        }
        let details = json!({ "invitation_id": self.invitation.id, "team_id": self.team.id });
        tx.audit(&NewAuditEntry::on(action, self.by).details(details))?;
        Ok(true)
    }
}

/// Returns the role that the invitee gets, which is at most the inviter's current one. It is `member` if the inviter
/// has left the team or is deactivated.
fn given_role(
    tx: &mut Transaction<'_>,
    team: &TeamRow,
    invitation: &OpenInvitation,
) -> Result<TeamRole, Error> {
    let role = invitation.role()?;
    let Some(inviter) = invitation.invited_by else {
        return Ok(TeamRole::Member);
    };
    let account = accounts::queries::find_account(tx.db, inviter)?;
    if !account.is_some_and(|account| account.is_active) {
        return Ok(TeamRole::Member);
    }
    let stored = teams::queries::find_stored_role(tx.db, team.id, inviter)?;
    let most = match stored {
        Some(stored) => effective_role(team.owner_id, inviter, &stored)?,
        None => TeamRole::Member,
    };
    Ok(role.min(most))
}
