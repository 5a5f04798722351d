use auth_types::UserId;
use db_kit::DbError;

use super::queries;
use super::wire::DeleteAccountRequest;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::credentials::Reauthentication;
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::transaction::Transaction;
use crate::{sessions, teams};

/// How often the account's teams may change during a deletion before it gives up.
const ATTEMPTS: usize = 5;

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeletionOutcome {
    Deleted,
    /// The account joined a team after its teams were read and before it was locked.
    JoinedMeanwhile,
}

/// Rejects any account but the caller's own, whether or not it exists.
pub(super) fn check_own(caller: &CurrentUser, user_id: UserId) -> Result<(), Error> {
    if user_id == caller.account.id {
        Ok(())
    } else {
        Err(Error::Forbidden("only its owner can delete an account"))
    }
}

/// Deletes the caller's account, given its password and a code of its second factor.
pub(crate) async fn delete_account(
    app: &App,
    caller: &CurrentUser,
    request: DeleteAccountRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    let shown = (request.password.as_str(), request.totp_code);
    let reauth = Reauthentication::verify(app, caller, shown, context, "deletion").await?;
    let reauth = reauth.with_attempt(app).await?;
    let context = context.clone().with_actor(user_id);
    for _ in 0..ATTEMPTS {
        let held = reauth.clone();
        let outcome = app
            .transact(&context, move |tx| delete(tx, user_id, &held))
            .await;
        if !matches!(outcome, Ok(DeletionOutcome::JoinedMeanwhile)) {
            return reauth.record_outcome(app, outcome).await.map(drop);
        }
    }
    Err(DbError::Busy.into())
}

/// Deletes the account in one transaction. Teams are locked first, in order of id, then the account. Changes of a
/// team's members lock in the same order.
fn delete(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    reauth: &Reauthentication,
) -> Result<DeletionOutcome, Error> {
    let now = tx.now.naive_utc();
    let mut locked = Vec::new();
    for id in queries::list_team_ids(tx.db, user_id)? {
        locked.extend(teams::queries::lock_team(tx.db, id, now)?);
    }
    if !queries::lock_to_delete(tx.db, user_id)? {
        return Err(Error::TokenRevoked);
    }
    let ids = queries::list_team_ids(tx.db, user_id)?;
    let lock_of = |id| locked.iter().find(|team| team.id == id);
    if ids.iter().any(|id| lock_of(*id).is_none()) {
        // Before anything is written or a code is used up.
        return Ok(DeletionOutcome::JoinedMeanwhile);
    }
    reauth.check(tx)?;
    for team in ids.into_iter().filter_map(lock_of) {
        if team.owner_id != user_id {
            teams::removal::end_membership(tx, team, user_id)?;
        } else if teams::queries::count_members(tx.db, team.id)? > 1 {
            return Err(Error::LastOwner);
        } else {
            teams::removal::remove_team(tx, team)?;
        }
    }
    sessions::end_all(tx, user_id, None, None)?;
    tx.audit(&NewAuditEntry::on(AuditAction::DELETED, user_id))?;
    queries::delete_account(tx.db, user_id)?;
    tx.user_changed(user_id)?;
    Ok(DeletionOutcome::Deleted)
}
