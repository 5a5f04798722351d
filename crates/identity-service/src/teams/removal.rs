//! The end of a membership or a team, as part of a larger change.

use auth_types::UserId;
use serde_json::json;

use super::model::TeamRow;
use super::queries;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::invitations;
use crate::transaction::Transaction;

/// Ends a membership in a locked team, and withdraws the invitations that the member sent and received.
pub(crate) fn end_membership(
    tx: &mut Transaction<'_>,
    team: &TeamRow,
    id: UserId,
) -> Result<(), Error> {
    queries::delete_member(tx.db, team.id, id)?;
    invitations::withdrawal::withdraw_of(tx, team, id)?;
    tx.membership_changed(id, team.to_ref(), None)?;
    let details = json!({ "team_id": team.id, "slug": team.slug });
    tx.audit(&NewAuditEntry::on(AuditAction::MEMBER_REMOVED, id).details(details))
}

/// Deletes a locked team.
pub(crate) fn remove_team(tx: &mut Transaction<'_>, team: &TeamRow) -> Result<(), Error> {
    queries::delete_team(tx.db, team.id)?;
    tx.team_changed(team.to_ref(), true)?;
    let details = json!({ "team_id": team.id, "slug": team.slug });
    tx.audit(&NewAuditEntry::on(AuditAction::TEAM_DELETED, team.owner_id).details(details))
}
