mod batcher;
mod client_sessions;
mod derived_sessions;
mod rotation;

use auth_types::{AccountRole, UserId};
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::dsl::{exists, max};
use diesel::prelude::*;

pub(crate) use batcher::RefreshBatcher;
pub(crate) use client_sessions::{
    ClientSession, find_client_session, is_authorized_by, list_sessions_to_call, move_authorized,
    with_logout_uri,
};
pub(crate) use derived_sessions::{
    end_derived_sessions, list_ancestors, list_clients_without_session,
};
pub(crate) use rotation::RotatedSession;
pub(super) use rotation::{RefreshRotation, rotate};

use super::model::{IDLE_LIFE, NewSession, SessionRow, SessionState};
use super::refresh_check::RefreshRow;
use crate::accounts::model::AccountRow;
use crate::columns::columns;
use crate::request_context::SessionCheck;
use crate::schema::{oauth_clients, sessions, users};
use crate::token_access::Grant;
use crate::tokens::refresh_token::RefreshToken;

pub(crate) fn insert_session(
    db: &mut Db,
    user_id: UserId,
    session: &NewSession,
) -> QueryResult<()> {
    let row = (
        sessions::id.eq(&session.id),
        sessions::user_id.eq(user_id),
        sessions::created_at.eq(session.opened_at),
        sessions::expires_at.eq(session.expires_at),
        sessions::refresh_lineage.eq(session.refresh_token.lineage()),
        sessions::refresh_hash.eq(session.refresh_token.hash()),
        sessions::refresh_rotated_at.eq(session.opened_at),
        sessions::refresh_expires_at.eq(session.opened_at + IDLE_LIFE),
        sessions::address.eq(&session.address),
        sessions::user_agent.eq(&session.user_agent),
        sessions::authenticated_at.eq(session.authenticated_at),
        sessions::has_second_factor.eq(session.has_second_factor),
        sessions::is_derived.eq(session.is_derived),
        sessions::kind.eq(session.grant.kind()),
        sessions::service.eq(session.grant.service()),
        sessions::sso_origin.eq(session.grant.site()),
        sessions::parent_sid.eq(session.parent()),
        sessions::authorized_by.eq(&session.authorized_by),
        sessions::client_id.eq(session.grant.client_id()),
        sessions::scope.eq(session.grant.scope().map(|scope| scope.to_string())),
    );
    diesel::insert_into(sessions::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// Finds a session and its account, which is all that validation reads from the database.
pub(crate) fn find_session_account(
    db: &mut Db,
    session_id: &str,
) -> QueryResult<Option<(SessionState, AccountRow)>> {
    sessions::table
        .inner_join(users::table)
        .filter(sessions::id.eq(session_id))
        .select((columns::<SessionState>(), columns::<AccountRow>()))
        .first(db)
        .optional()
}

/// Finds the session of a hosted page's cookie, and its account.
pub(crate) fn find_by_cookie(
    db: &mut Db,
    cookie: &RefreshToken,
) -> QueryResult<Option<(String, SessionState, AccountRow)>> {
    sessions::table
        .inner_join(users::table)
        .filter(sessions::refresh_lineage.eq(cookie.lineage()))
        .filter(sessions::refresh_hash.eq(cookie.hash()))
        .filter(sessions::kind.eq(Grant::BROWSER))
        .select((
            sessions::id,
            columns::<SessionState>(),
            columns::<AccountRow>(),
        ))
        .first(db)
        .optional()
}

pub(crate) fn find_lineage(db: &mut Db, lineage: &str) -> QueryResult<Option<RefreshRow>> {
    sessions::table
        .filter(sessions::refresh_lineage.eq(lineage))
        .select(columns::<RefreshRow>())
        .first(db)
        .optional()
}

/// Finds the session of a lineage and its account. A rotation changes none of these columns.
pub(super) fn find_lineage_account(
    db: &mut Db,
    lineage: &str,
) -> QueryResult<Option<RotatedSession>> {
    sessions::table
        .inner_join(users::table)
        .filter(sessions::refresh_lineage.eq(lineage))
        .select(columns::<RotatedSession>())
        .first(db)
        .optional()
}

/// Ends a session. False if it has ended before.
pub(crate) fn revoke(db: &mut Db, session_id: &str, now: NaiveDateTime) -> QueryResult<bool> {
    diesel::update(
        sessions::table
            .find(session_id)
            .filter(sessions::revoked_at.is_null()),
    )
    .set(sessions::revoked_at.eq(now))
    .execute(db)
    .map(|ended| ended == 1)
}

/// Lists the live sessions of the account with the kind, client and site of `new`, newest first, without the first
/// `newest` ones.
pub(super) fn list_beyond(
    db: &mut Db,
    user_id: UserId,
    new: &NewSession,
    newest: i64,
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let mut alike = sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::kind.eq(new.grant.kind()))
        .filter(sessions::is_derived.eq(new.is_derived))
        .filter(sessions::id.ne_all(new.ancestors()))
        .into_boxed();
    if let Some(client_id) = new.grant.client_id() {
        alike = alike.filter(sessions::client_id.eq(client_id));
    }
    alike = match new.grant.site() {
        Some(site) => alike.filter(sessions::sso_origin.eq(site)),
        None => alike.filter(sessions::sso_origin.is_null()),
    };
    alike
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.gt(now))
        .filter(sessions::refresh_expires_at.gt(now))
        .order((sessions::created_at.desc(), sessions::id))
        .offset(newest)
        .limit(MAX_ENDED)
        .select(sessions::id)
        .load(db)
}

/// Ends the sessions of an account except `spared`, and returns the ids of those that this call ended.
pub(crate) fn revoke_all(
    db: &mut Db,
    user_id: UserId,
    spared: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let unrevoked = sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::id.ne(spared.unwrap_or_default()))
        .filter(sessions::revoked_at.is_null());
    if let Db::Pg(conn) = db {
        // All callers lock in one order: a concurrent sign-out would otherwise deadlock with this.
        unrevoked
            .order(sessions::id)
            .select(sessions::id)
            .for_update()
            .load::<String>(conn)?;
    }
    diesel::update(unrevoked)
        .set(sessions::revoked_at.eq(now))
        .returning(sessions::id)
        .get_results(db)
}

/// Ends up to `limit` sessions of an OAuth client, and returns their ids, accounts and scopes.
pub(crate) fn revoke_of_client(
    db: &mut Db,
    client_id: &str,
    limit: i64,
    now: NaiveDateTime,
) -> QueryResult<Vec<(String, UserId, Option<String>)>> {
    let unrevoked = sessions::table
        .filter(sessions::client_id.eq(client_id))
        .filter(sessions::revoked_at.is_null())
        .order(sessions::id)
        .limit(limit)
        .select(sessions::id);
    let ids: Vec<String> = match db {
        // In the order of all code that ends several sessions.
        Db::Pg(conn) => unrevoked.for_update().load(conn)?,
        Db::Sqlite(conn) => unrevoked.load(conn)?,
    };
    diesel::update(sessions::table.filter(sessions::id.eq_any(ids)))
        .set(sessions::revoked_at.eq(now))
        .returning((sessions::id, sessions::user_id, sessions::scope))
        .get_results(db)
}

/// Whether a session is not revoked, its account is active, and the required role still holds. The caller has checked expiry.
pub(crate) fn may_change(db: &mut Db, check: &SessionCheck) -> QueryResult<bool> {
    let role = sessions::table
        .inner_join(users::table)
        .filter(sessions::id.eq(&check.session_id))
        .filter(sessions::revoked_at.is_null())
        .filter(users::is_active.eq(true))
        .select(users::role)
        .first::<String>(db)
        .optional()?;
    let superadmin = AccountRole::Superadmin.as_str();
    Ok(role.is_some_and(|role| !check.superadmin || role == superadmin))
}

/// Whether a session is not revoked. The caller has checked its expiry.
pub(crate) fn is_unrevoked(db: &mut Db, session_id: &str) -> QueryResult<bool> {
    let unrevoked = sessions::table
        .find(session_id)
        .filter(sessions::revoked_at.is_null());
    diesel::select(exists(unrevoked)).get_result(db)
}

/// Whether the owner of a session used their second factor; `None` if the session is revoked.
pub(crate) fn find_second_factor(db: &mut Db, session_id: &str) -> QueryResult<Option<bool>> {
    sessions::table
        .find(session_id)
        .filter(sessions::revoked_at.is_null())
        .select(sessions::has_second_factor)
        .first(db)
        .optional()
}

/// The most sessions over the limit that one sign-in ends. Data from before the limit may hold more, which later
/// sign-ins end.
const MAX_ENDED: i64 = 1_000;

/// The most locations that one sign-in compares, to bound its time. Beyond them, a known location may cause a notice.
const MAX_PLACES: i64 = 1_000;

/// Lists the distinct pairs of address and user agent from which an account signed in or refreshed since `since`,
/// most recent first.
pub(crate) fn list_sign_in_locations(
    db: &mut Db,
    user_id: UserId,
    since: NaiveDateTime,
) -> QueryResult<Vec<(Option<String>, Option<String>)>> {
    sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::refresh_rotated_at.ge(since))
        .group_by((sessions::address, sessions::user_agent))
        .order(max(sessions::refresh_rotated_at).desc())
        .limit(MAX_PLACES)
        .select((sessions::address, sessions::user_agent))
        .load(db)
}

/// Whether a session since `since` has exactly this address and user agent.
pub(crate) fn has_signed_in_from(
    db: &mut Db,
    user_id: UserId,
    since: NaiveDateTime,
    address: &str,
    user_agent: &str,
) -> QueryResult<bool> {
    let known = sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::refresh_rotated_at.ge(since))
        .filter(sessions::address.eq(address))
        .filter(sessions::user_agent.eq(user_agent));
    diesel::select(exists(known)).get_result(db)
}

/// Finds the label of the site that a session was given to.
pub(crate) fn find_service(db: &mut Db, session_id: &str) -> QueryResult<Option<String>> {
    let found = sessions::table
        .find(session_id)
        .select(sessions::service)
        .first::<Option<String>>(db)
        .optional()?;
    Ok(found.flatten())
}

/// Finds the session of a refresh token's lineage if it belongs to the account.
pub(crate) fn find_session_of(
    db: &mut Db,
    lineage: &str,
    user_id: UserId,
) -> QueryResult<Option<String>> {
    sessions::table
        .filter(sessions::refresh_lineage.eq(lineage))
        .filter(sessions::user_id.eq(user_id))
        .select(sessions::id)
        .first(db)
        .optional()
}

/// Ends a live session of the account. False if there is none with this id.
pub(crate) fn revoke_of(
    db: &mut Db,
    user_id: UserId,
    session_id: &str,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    diesel::update(
        sessions::table
            .filter(sessions::id.eq(session_id))
            .filter(sessions::user_id.eq(user_id))
            .filter(sessions::revoked_at.is_null())
            .filter(sessions::expires_at.gt(now))
            .filter(sessions::refresh_expires_at.gt(now)),
    )
    .set(sessions::revoked_at.eq(now))
    .execute(db)
    .map(|ended| ended == 1)
}

/// Returns a page of the account's live sessions, newest first, and their total number.
pub(crate) fn list_live(
    db: &mut Db,
    user_id: UserId,
    (limit, offset): (i64, i64),
    now: NaiveDateTime,
) -> QueryResult<(Vec<SessionRow>, i64)> {
    let live = || {
        sessions::table
            .filter(sessions::user_id.eq(user_id))
            .filter(sessions::revoked_at.is_null())
            .filter(sessions::expires_at.gt(now))
            .filter(sessions::refresh_expires_at.gt(now))
    };
    let client = oauth_clients::id.nullable().eq(sessions::client_id);
    let page = live()
        .left_join(oauth_clients::table.on(client))
        .order((sessions::created_at.desc(), sessions::id))
        .limit(limit)
        .offset(offset)
        .select(columns::<SessionRow>())
        .load(db)?;
    Ok((page, live().count().get_result(db)?))
}
