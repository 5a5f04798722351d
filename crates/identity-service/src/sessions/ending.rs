//! Ending sign-ins: this one, another one, all others, all.

use auth_types::UserId;

use super::model::NewSession;
use super::queries;
use crate::accounts;
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::auth::CurrentUser;
use crate::change::Change;
use crate::error::Error;
use crate::origin::{Origin, Via};
use crate::tokens::refresh::RefreshToken;

/// Live sessions of one account and kind, and of one account and OAuth client or site. No person has so many, and a
/// script that signs in for each call keeps the answers about them small.
const MAX_LIVE: i64 = 200;

/// Ends the caller's session, and that of another refresh token of theirs if they name one.
pub(crate) async fn logout(
    app: &App,
    caller: &CurrentUser,
    refresh_token: Option<&str>,
    origin: &Origin,
) -> Result<(), Error> {
    let other = refresh_token
        .and_then(RefreshToken::parse)
        .map(|token| token.lineage());
    let (user_id, session_id) = (caller.account.id, caller.token.session_id.clone());
    let origin = origin.clone().by(user_id);
    app.change(&origin, move |change| {
        accounts::queries::lock_account(change.db, user_id)?;
        let mut ending = vec![session_id];
        if let Some(lineage) = other {
            ending.extend(queries::find_session_of(change.db, &lineage, user_id)?);
        }
        // Everything that ends several does so in this order.
        ending.sort();
        let mut ended = Vec::new();
        for session_id in ending {
            if queries::revoke(change.db, &session_id, change.now.naive_utc())? {
                change.audit(&Entry::on(Action::SIGNED_OUT, user_id).session(&session_id))?;
                ended.push(session_id);
            }
        }
        change.end_descendants_and_publish(user_id, &ended)
    })
    .await
}

/// Ends one session of the caller, perhaps this one.
pub(crate) async fn end_session(
    app: &App,
    caller: &CurrentUser,
    session_id: String,
    origin: &Origin,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    let origin = origin.clone().by(user_id);
    app.change(&origin, move |change| {
        accounts::queries::lock_account(change.db, user_id)?;
        if !queries::revoke_of(change.db, user_id, &session_id, change.now.naive_utc())? {
            return Err(Error::SessionNotFound);
        }
        change.audit(&Entry::on(Action::SIGNED_OUT, user_id).session(&session_id))?;
        change.end_descendants_and_publish(user_id, &[session_id])
    })
    .await
}

/// Ends all sessions of the caller, or all but this one.
pub(crate) async fn end_many(
    app: &App,
    caller: &CurrentUser,
    spare_this: bool,
    origin: &Origin,
) -> Result<(), Error> {
    let user_id = caller.account.id;
    let spared = spare_this.then(|| caller.token.session_id.clone());
    let origin = origin.clone().by(user_id);
    app.change(&origin, move |change| {
        accounts::queries::lock_account(change.db, user_id)?;
        end_all(change, user_id, spared.as_deref())
    })
    .await
}

/// Ends the sessions of an account, all of them or all but `spared`. To be called after something has
/// locked the account's row: a sign-in under way then either is among them or does not come about.
pub(crate) fn end_all(
    change: &mut Change<'_>,
    user_id: UserId,
    spared: Option<&str>,
) -> Result<(), Error> {
    let now = change.now.naive_utc();
    let ended = queries::revoke_all(change.db, user_id, spared, now)?;
    audit_and_publish(change, user_id, &ended, None)
}

/// The same for somebody else, with the reason in the audit log; how many.
pub(crate) fn end_all_for(
    change: &mut Change<'_>,
    user_id: UserId,
    reason: &str,
) -> Result<usize, Error> {
    let now = change.now.naive_utc();
    let ended = queries::revoke_all(change.db, user_id, None, now)?;
    audit_and_publish(change, user_id, &ended, Some(reason))?;
    Ok(ended.len())
}

/// Ends the oldest sessions like the one that an account is about to get, so that it has no more than [`MAX_LIVE`]
/// of them. Only those of the same kind, client and site: opening many without a password ends no sign-in with one.
/// To be called after something has locked the account's row.
pub(crate) fn make_room(
    change: &mut Change<'_>,
    user_id: UserId,
    new: &NewSession,
) -> Result<(), Error> {
    let now = change.now.naive_utc();
    // Those that the new one descends from are spared: it would end with them.
    let spared = i64::try_from(new.ancestors().len()).unwrap_or_default();
    let newest = MAX_LIVE - 1 - spared;
    let oldest = queries::list_beyond(change.db, user_id, new, newest, now)?;
    end_each(change, user_id, oldest, "too_many").map(drop)
}

/// Ends expired sessions of an account; how many, without those that have been ended meanwhile.
pub(crate) async fn end_expired(
    app: &App,
    user_id: UserId,
    sids: Vec<String>,
) -> Result<usize, Error> {
    app.change(&Origin::local(Via::System), move |change| {
        accounts::queries::lock_account(change.db, user_id)?;
        end_each(change, user_id, sids, "expired")
    })
    .await
}

fn end_each(
    change: &mut Change<'_>,
    user_id: UserId,
    mut sids: Vec<String>,
    reason: &str,
) -> Result<usize, Error> {
    // Everything that ends several does so in this order.
    sids.sort();
    let mut ended = Vec::new();
    for sid in sids {
        if queries::revoke(change.db, &sid, change.now.naive_utc())? {
            ended.push(sid);
        }
    }
    audit_and_publish(change, user_id, &ended, Some(reason))?;
    Ok(ended.len())
}

/// Ends the session whose cookie the browser gives up for a new one, whichever account it is of: nobody could sign out
/// of it any more. It needs no lock, because such a session has no descendants.
pub(crate) fn end_replaced(change: &mut Change<'_>) -> Result<(), Error> {
    let Some((user_id, session_id)) = &change.origin.replaces else {
        return Ok(());
    };
    if queries::revoke(change.db, session_id, change.now.naive_utc())? {
        let ended = std::slice::from_ref(session_id);
        audit_and_publish(change, *user_id, ended, Some("signed_in_again"))?;
    }
    Ok(())
}

/// Audits the end of these sessions of an account, ends what descends from them, and publishes it.
pub(crate) fn audit_and_publish(
    change: &mut Change<'_>,
    user_id: UserId,
    ended: &[String],
    reason: Option<&str>,
) -> Result<(), Error> {
    change.audit_ended(user_id, ended, reason)?;
    change.end_descendants_and_publish(user_id, ended)
}
