use auth_types::UserId;
use serde_json::json;

use super::queries;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::teams;
use crate::teams::model::TeamRow;
use crate::transaction::Transaction;

/// Withdraws the invitations to the team that a former member sent, and those sent to their verified address.
/// Otherwise a removed member could rejoin. The caller has locked the team.
pub(crate) fn withdraw_of(
    tx: &mut Transaction<'_>,
    team: &TeamRow,
    member: UserId,
) -> Result<(), Error> {
    let now = tx.now.naive_utc();
    let address = teams::queries::find_verified_address(tx.db, member)?;
    let address = address.map(|address| address.to_ascii_lowercase());
    for id in queries::withdraw(tx.db, team.id, member, address.as_deref(), now)? {
        revoked(tx, team, &id)?;
    }
    Ok(())
}

pub(super) fn revoked(tx: &mut Transaction<'_>, team: &TeamRow, id: &str) -> Result<(), Error> {
    let details = json!({ "invitation_id": id, "team_id": team.id });
    tx.audit(&NewAuditEntry::new(AuditAction::INVITATION_REVOKED).details(details))
}
