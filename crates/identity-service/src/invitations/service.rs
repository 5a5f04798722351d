//! The team's operations: inviting, listing, and withdrawing.

use auth_types::{Scope, TeamRole};
use db_kit::outbox::uuid_v7;
use event_types::MailTemplate;
use secrecy::ExposeSecret as _;
use serde_json::json;
use service_kit::crypto::random_token;

use super::model::{LIFE, NewInvitation, invitation_id};
use super::queries;
use super::wire::{
    Invitation, InvitationStatus, InvitationsQuery, InvitationsResponse, InviteRequest,
};
use super::withdrawal::revoked;
use crate::accounts::Email;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::mail_links;
use crate::rate_limits::AccountLimit;
use crate::request_context::RequestContext;
use crate::teams::authorization::{TeamActor, TeamAdmin};
use crate::teams::wire::given_role;

/// Invites an address to the team by mail. Neither effect nor response depends on whether the address belongs to an
/// account or a member, because that would reveal whose it is.
pub(crate) async fn invite(
    app: &App,
    admin: &TeamAdmin,
    request: InviteRequest,
    context: &RequestContext,
) -> Result<Invitation, Error> {
    let email = Email::parse(&request.email)?;
    let role = given_role(request.role.as_deref())?;
    let actor = TeamActor::from_member(&admin.0);
    app.rate_limits
        .check_account(AccountLimit::Invite, actor.user_id)?;
    let invited_by = admin.0.caller.account.username.clone();
    app.transact(&context.clone().for_caller(&admin.0.caller), move |tx| {
        let (team, _) = actor.lock(tx, TeamRole::Admin)?;
        let now = tx.now.naive_utc();
        let token = random_token();
        let invitation = NewInvitation {
            id: &uuid_v7(tx.now).to_string(),
            team_id: team.id.get(),
            email: email.as_str(),
            email_lower: &email.lower(),
            role: role.as_str(),
            status: InvitationStatus::Pending.as_str(),
            token_hash: &mail_links::hash(&token),
            invited_by: actor.user_id.get(),
            created_at: now,
            expires_at: now + LIFE,
        };
        let id = match queries::renew(tx.db, &invitation)? {
            Some(id) => id,
            None => {
                queries::insert(tx.db, &invitation)?;
                invitation.id.to_owned()
            }
        };
        let text = MailTemplate::Invitation {
            team: team.name.clone(),
            invited_by,
            link: format!("{}/invitations/{}", tx.base_url, token.expose_secret()),
            expires_at: tx.now + LIFE,
        };
        tx.mail(email.as_str(), text)?;
        let details = json!({ "invitation_id": id, "team_id": team.id, "role": role });
        tx.audit(&NewAuditEntry::new(AuditAction::INVITATION_SENT).details(details))?;
        queries::find_of_team(tx.db, team.id, &id)?
            .ok_or(Error::InvitationNotFound)?
            .into_wire(now)
    })
    .await
}

/// Returns the team's invitations, of one status or of all.
pub(crate) async fn list_of_team(
    app: &App,
    admin: &TeamAdmin,
    query: InvitationsQuery,
) -> Result<InvitationsResponse, Error> {
    let page = query.bounds()?;
    let (team_id, now) = (admin.0.team.id, app.clock.now_naive());
    let sees_email = admin.0.caller.token.access.sees(Scope::Email);
    app.pool
        .read(move |db| {
            let found = queries::list_of_team(db, team_id, query.status, now, page)?;
            InvitationsResponse::new(found, now, sees_email)
        })
        .await
}

/// Withdraws an invitation, unless it has been settled or has expired.
pub(crate) async fn revoke(
    app: &App,
    admin: &TeamAdmin,
    id: &str,
    context: &RequestContext,
) -> Result<(), Error> {
    let id = invitation_id(id).ok_or(Error::InvitationNotFound)?;
    let actor = TeamActor::from_member(&admin.0);
    app.transact(&context.clone().for_caller(&admin.0.caller), move |tx| {
        let (team, _) = actor.lock(tx, TeamRole::Admin)?;
        queries::find_of_team(tx.db, team.id, &id)?.ok_or(Error::InvitationNotFound)?;
        let now = tx.now.naive_utc();
        if !queries::set_status(tx.db, &id, InvitationStatus::Revoked, None, now)? {
            return Err(Error::InvitationGone);
        }
        revoked(tx, &team, &id)
    })
    .await
}
