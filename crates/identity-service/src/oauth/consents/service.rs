use std::collections::BTreeMap;

use auth_types::{ScopeSet, UserId};
use serde_json::json;

use super::queries;
use super::wire::Application;
use crate::accounts;
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::auth::CurrentUser;
use crate::change::Change;
use crate::error::Error;
use crate::oauth::{codes, devices, scopes};
use crate::origin::Origin;
use crate::sessions;

/// Applications that are listed; nobody looks through more.
const MOST: i64 = 200;
/// Sessions that are looked at for the list.
const MOST_SESSIONS: i64 = 1_000;

/// Whether an account has allowed a client this much before.
pub(crate) async fn is_allowed(
    app: &App,
    user_id: UserId,
    client_id: &str,
    scope: ScopeSet,
) -> Result<bool, Error> {
    let allowed = find_allowed(app, user_id, client_id).await?;
    Ok(allowed.is_some_and(|allowed| allowed.includes(scope)))
}

/// What an account has allowed a client before.
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

/// In a transaction: makes sure that what an account allowed before was not taken back meanwhile, and is not
/// until the transaction ends.
pub(crate) fn hold(
    change: &mut Change<'_>,
    user_id: UserId,
    client_id: &str,
    scope: ScopeSet,
) -> Result<(), Error> {
    accounts::queries::lock_account(change.db, user_id)?;
    let allowed = queries::find_scope(change.db, user_id, client_id)?;
    match read_scope(allowed.as_deref().unwrap_or_default())?.includes(scope) {
        true => Ok(()),
        false => Err(Error::Forbidden(
            "this access was taken back a moment ago; start again",
        )),
    }
}

/// Remembers that an account allows a client this, besides what it allowed before.
pub(crate) fn allow(
    change: &mut Change<'_>,
    user_id: UserId,
    client_id: &str,
    scope: ScopeSet,
    by: &'static str,
) -> Result<(), Error> {
    // Two answers at once would each lose what the other adds.
    accounts::queries::lock_account(change.db, user_id)?;
    let before = queries::find_scope(change.db, user_id, client_id)?;
    let before = read_scope(before.as_deref().unwrap_or_default())?;
    let allowed = before.union(scope).to_string();
    let now = change.now.naive_utc();
    queries::put_consent(change.db, user_id, client_id, &allowed, now)?;
    let details = json!({ "client_id": client_id, "scope": scope.to_string(), "by": by });
    change.audit(&Entry::on(Action::ACCESS_ALLOWED, user_id).details(details))
}

/// Writes down that an account did not allow a client what it asked for.
pub(crate) fn deny(
    change: &mut Change<'_>,
    user_id: UserId,
    client_id: &str,
    by: &'static str,
) -> Result<(), Error> {
    let details = json!({ "client_id": client_id, "by": by });
    change.audit(&Entry::on(Action::ACCESS_DENIED, user_id).details(details))
}

/// The clients that have access to an account, or need not ask for it again, by name.
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

/// Takes a client's access to the caller's account back: it has to ask again, its sessions are over, and
/// codes on their way to it are worth nothing.
pub(crate) async fn revoke_application(
    app: &App,
    caller: &CurrentUser,
    client_id: String,
    origin: &Origin,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    let origin = origin.clone().of(caller);
    app.change(&origin, move |change| {
        let now = change.now.naive_utc();
        // Codes and devices become sessions under this lock.
        accounts::queries::lock_account(change.db, user_id)?;
        let was_allowed = queries::delete_consent(change.db, user_id, &client_id)?;
        let codes = codes::queries::delete_of(change.db, user_id, &client_id)?;
        let devices = devices::queries::delete_of(change.db, user_id, &client_id)?;
        let ended = queries::revoke_sessions(change.db, user_id, &client_id, now)?;
        if !was_allowed && codes + devices + ended.len() == 0 {
            return Err(Error::ApplicationNotFound);
        }
        let details = json!({ "client_id": client_id });
        change.audit(&Entry::on(Action::ACCESS_REVOKED, user_id).details(details))?;
        if ended.is_empty() {
            change.client_shut_out(user_id, &client_id)?;
        }
        sessions::ending::audit_and_publish(change, user_id, &ended, Some("access_revoked"))
    })
    .await
}

fn read_scope(text: &str) -> Result<ScopeSet, Error> {
    scopes::read(text, "oauth_consents.scope")
}
