use std::collections::BTreeMap;

use auth_types::{ScopeSet, UserId};
use serde_json::json;

use super::queries;
use super::wire::Application;
use crate::accounts;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::oauth::{codes, devices, scopes};
use crate::request_context::RequestContext;
use crate::sessions;
use crate::transaction::Transaction;

/// The maximum number of consents in the list. Nobody reads a longer one.
const MOST: i64 = 200;
/// The maximum number of sessions from which the list is made.
const MOST_SESSIONS: i64 = 1_000;

/// Whether an account has already allowed a client this scope.
pub(crate) async fn is_allowed(
    app: &App,
    user_id: UserId,
    client_id: &str,
    scope: ScopeSet,
) -> Result<bool, Error> {
    let allowed = find_allowed(app, user_id, client_id).await?;
    Ok(allowed.is_some_and(|allowed| allowed.includes(scope)))
}

/// Finds the scope that an account has allowed a client.
pub(crate) async fn find_allowed(
    app: &App,
    user_id: UserId,
    client_id: &str,
) -> Result<Option<ScopeSet>, Error> {
    let client_id = client_id.to_owned();
    let allowed = app
        .read(move |db| queries::find_scope(db, user_id, &client_id))
        .await?;
    allowed.as_deref().map(read_scope).transpose()
}

/// Checks in a transaction that a consent has not been revoked meanwhile. The lock keeps it until the transaction ends.
pub(crate) fn check(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    client_id: &str,
    scope: ScopeSet,
) -> Result<(), Error> {
    accounts::queries::lock_account(tx.db, user_id)?;
    let allowed = queries::find_scope(tx.db, user_id, client_id)?;
    match read_scope(allowed.as_deref().unwrap_or_default())?.includes(scope) {
        true => Ok(()),
        false => Err(Error::Forbidden(
            "this access was just revoked; start again",
        )),
    }
}

/// Adds a scope to the consent of an account for a client.
pub(crate) fn allow(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    client_id: &str,
    scope: ScopeSet,
    by: &'static str,
) -> Result<(), Error> {
    // Without the lock, two concurrent consents would overwrite each other.
    accounts::queries::lock_account(tx.db, user_id)?;
    let before = queries::find_scope(tx.db, user_id, client_id)?;
    let before = read_scope(before.as_deref().unwrap_or_default())?;
    let allowed = before.union(scope).to_string();
    let now = tx.now.naive_utc();
    queries::put_consent(tx.db, user_id, client_id, &allowed, now)?;
    let details = json!({ "client_id": client_id, "scope": scope.to_string(), "by": by });
    tx.audit(&NewAuditEntry::on(AuditAction::ACCESS_ALLOWED, user_id).details(details))
}

/// Records that an account denied the request of a client.
pub(crate) fn deny(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    client_id: &str,
    by: &'static str,
) -> Result<(), Error> {
    let details = json!({ "client_id": client_id, "by": by });
    tx.audit(&NewAuditEntry::on(AuditAction::ACCESS_DENIED, user_id).details(details))
}

/// Lists the clients with a consent or a session for an account, by name.
pub(crate) async fn list_applications(
    app: &App,
    user_id: UserId,
) -> Result<Vec<Application>, Error> {
    let now = app.clock.now_naive();
    let (consents, sessions) = app
        .read(move |db| {
            let consents = queries::list_consents(db, user_id, MOST)?;
            let sessions = queries::list_client_sessions(db, user_id, MOST_SESSIONS, now)?;
            Ok((consents, sessions))
        })
        .await?;
    let mut applications = BTreeMap::new();
    for row in consents {
        applications.insert(row.client_id.clone(), Application::allowed(row)?);
    }
    for row in sessions {
        if let Some(new) = Application::of_session(&row) {
            let known = applications.entry(new.client_id.clone());
            known.or_insert(new).count(&row)?;
        }
    }
    let mut applications: Vec<_> = applications.into_values().collect();
    applications.sort_by_cached_key(|one| (one.name.to_lowercase(), one.client_id.clone()));
    Ok(applications)
}

/// Revokes a client's access to the caller's account. Its sessions end, its pending codes become invalid, and it must ask
/// for consent again.
pub(crate) async fn revoke_application(
    app: &App,
    caller: &CurrentUser,
    client_id: String,
    context: &RequestContext,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    app.transact(&context.clone().for_caller(caller), move |tx| {
        let now = tx.now.naive_utc();
        // Codes and devices are exchanged for sessions under this lock.
        accounts::queries::lock_account(tx.db, user_id)?;
        let was_allowed = queries::delete_consent(tx.db, user_id, &client_id)?;
        let codes = codes::queries::delete_of(tx.db, user_id, &client_id)?;
        let devices = devices::queries::delete_of(tx.db, user_id, &client_id)?;
        let ended = queries::revoke_sessions(tx.db, user_id, &client_id, now)?;
        if !was_allowed && codes + devices + ended.len() == 0 {
            return Err(Error::ApplicationNotFound);
        }
        let details = json!({ "client_id": client_id });
        tx.audit(&NewAuditEntry::on(AuditAction::ACCESS_REVOKED, user_id).details(details))?;
        if ended.is_empty() {
            tx.publish_client_revoked(user_id, &client_id)?;
        }
        sessions::revocation::audit_and_publish(tx, user_id, &ended, Some("access_revoked"))
    })
    .await
}

fn read_scope(text: &str) -> Result<ScopeSet, Error> {
    scopes::read(text, "oauth_consents.scope")
}
