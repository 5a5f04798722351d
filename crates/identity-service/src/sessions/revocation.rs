//! The end of sessions: one, several, or all of an account.

use auth_types::UserId;

use super::model::NewSession;
use super::queries;
use crate::accounts;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::{RequestChannel, RequestContext};
use crate::tokens::refresh_token::RefreshToken;
use crate::transaction::Transaction;

/// The most live sessions of one account per kind, OAuth client and site. The limit bounds queries and responses when
/// a script signs in for each call.
const MAX_LIVE: i64 = 200;

/// Ends the caller's session, and that of `refresh_token` if it belongs to the caller.
pub(crate) async fn logout(
    app: &App,
    caller: &CurrentUser,
    refresh_token: Option<&str>,
    context: &RequestContext,
) -> Result<(), Error> {
    let other = refresh_token
        .and_then(RefreshToken::parse)
        .map(|token| token.lineage());
    let (user_id, session_id) = (caller.account.id, caller.token.session_id.clone());
    app.transact(&context.clone().with_actor(user_id), move |tx| {
        accounts::queries::lock_account(tx.db, user_id)?;
        let mut ending = vec![session_id];
        if let Some(lineage) = other {
            ending.extend(queries::find_session_of(tx.db, &lineage, user_id)?);
        }
        end_each(tx, user_id, ending, None).map(drop)
    })
    .await
}

/// Ends the sign-in of the browser, if there is one, and the session of the client that asks for it, given by its id and
/// the client's. Both belong to the same account.
pub(crate) async fn sign_out_for_client(
    app: &App,
    user_id: UserId,
    sign_in: Option<String>,
    client_session: Option<(String, String)>,
    context: &RequestContext,
) -> Result<(), Error> {
    app.transact(context, move |tx| {
        accounts::queries::lock_account(tx.db, user_id)?;
        let mut ending = Vec::from_iter(sign_in);
        if let Some((id, client_id)) = client_session {
            let of_client = queries::find_client_session(tx.db, user_id, (&id, &client_id))?;
            ending.extend(of_client);
        }
        end_each(tx, user_id, ending, None).map(drop)
    })
    .await
}

/// Ends one session of the caller, which may be the current one.
pub(crate) async fn end_session(
    app: &App,
    caller: &CurrentUser,
    session_id: String,
    context: &RequestContext,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    app.transact(&context.clone().with_actor(user_id), move |tx| {
        accounts::queries::lock_account(tx.db, user_id)?;
        if !queries::revoke_of(tx.db, user_id, &session_id, tx.now.naive_utc())? {
            return Err(Error::SessionNotFound);
        }
        audit_and_publish(tx, user_id, &[session_id], None)
    })
    .await
}

/// Ends all sessions of the caller, or all but the current one.
pub(crate) async fn end_many(
    app: &App,
    caller: &CurrentUser,
    spare_this: bool,
    context: &RequestContext,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    let spared = spare_this.then(|| caller.token.session_id.clone());
    app.transact(&context.clone().with_actor(user_id), move |tx| {
        accounts::queries::lock_account(tx.db, user_id)?;
        end_all(tx, user_id, spared.as_deref(), None).map(drop)
    })
    .await
}

/// Ends the sessions of an account, all of them or all but `spared`, and returns their number. The caller must have
/// locked the account's row, so that a concurrent sign-in is either among them or checked after this change.
pub(crate) fn end_all(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    spared: Option<&str>,
    reason: Option<&str>,
) -> Result<usize, Error> {
    let now = tx.now.naive_utc();
    let ended = queries::revoke_all(tx.db, user_id, spared, now)?;
    audit_and_publish(tx, user_id, &ended, reason)?;
    Ok(ended.len())
}

/// Ends the oldest sessions of the kind, client and site of `new`, so that with it at most [`MAX_LIVE`] remain.
/// Derived sessions never end one that was opened with a password. The caller must have locked the account's row.
pub(crate) fn end_excess_sessions(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    new: &NewSession,
) -> Result<(), Error> {
    let now = tx.now.naive_utc();
    // The ancestors of the new session are spared, because it would end with them.
    let spared = i64::try_from(new.ancestors().len()).unwrap_or_default();
    let newest = MAX_LIVE - 1 - spared;
    let oldest = queries::list_beyond(tx.db, user_id, new, newest, now)?;
    end_each(tx, user_id, oldest, Some("too_many")).map(drop)
}

/// Ends expired sessions of an account, and returns how many had not ended before.
pub(crate) async fn end_expired(
    app: &App,
    user_id: UserId,
    sids: Vec<String>,
) -> Result<usize, Error> {
    app.transact(&RequestContext::local(RequestChannel::System), move |tx| {
        accounts::queries::lock_account(tx.db, user_id)?;
        end_each(tx, user_id, sids, Some("expired"))
    })
    .await
}

fn end_each(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    mut sids: Vec<String>,
    reason: Option<&str>,
) -> Result<usize, Error> {
    // All code that ends several sessions follows this order, which prevents deadlocks.
    sids.sort();
    let mut ended = Vec::new();
    for sid in sids {
        if queries::revoke(tx.db, &sid, tx.now.naive_utc())? {
            ended.push(sid);
        }
    }
    audit_and_publish(tx, user_id, &ended, reason)?;
    Ok(ended.len())
}

/// Locks the account of the session whose cookie the browser replaces, and that of the user who signs in, if they differ: a
/// client may be opening a session that ends with the replaced one. Two browsers may exchange their users, so the rows are
/// locked in the order of their ids. A new account has no row yet.
pub(crate) fn lock_replaced(
    tx: &mut Transaction<'_>,
    new_user: Option<UserId>,
) -> Result<(), Error> {
    let replaced = tx.context.replaces.as_ref().map(|(user_id, _)| *user_id);
    let Some(replaced) = replaced.filter(|user_id| Some(*user_id) != new_user) else {
        return Ok(());
    };
    let mut users = Vec::from_iter([replaced].into_iter().chain(new_user));
    users.sort();
    for user_id in users {
        accounts::queries::lock_account(tx.db, user_id)?;
    }
    Ok(())
}

/// Ends the session whose cookie the browser replaces, whichever account it belongs to: without the cookie, nobody
/// could sign out of it. The caller must have called [`lock_replaced`] first. If the same user signs in again, the clients
/// that they have authorized stay signed in.
pub(crate) fn end_replaced(
    tx: &mut Transaction<'_>,
    new_user: UserId,
    new: &NewSession,
) -> Result<(), Error> {
    let Some((user_id, session_id)) = &tx.context.replaces else {
        return Ok(());
    };
    if *user_id == new_user {
        queries::move_authorized(tx.db, session_id, &new.id)?;
    }
    if queries::revoke(tx.db, session_id, tx.now.naive_utc())? {
        let ended = std::slice::from_ref(session_id);
        audit_and_publish(tx, *user_id, ended, Some("signed_in_again"))?;
    }
    Ok(())
}

/// Records the end of these sessions in the audit log, ends their descendants, and publishes the event.
pub(crate) fn audit_and_publish(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    ended: &[String],
    reason: Option<&str>,
) -> Result<(), Error> {
    tx.audit_ended(user_id, ended, reason)?;
    tx.end_derived_and_publish(user_id, ended)
}
