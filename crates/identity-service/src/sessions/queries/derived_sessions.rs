//! Sessions that SSO sessions have opened, and that end with them.

use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, json, statement};
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamp};

use crate::schema::{oauth_clients, sessions};

/// Ends the descendants of ended sessions, and returns their ids. If one of the sessions is an SSO session, the caller
/// must have locked the account's row, so that no further descendant is opened meanwhile.
pub(crate) fn end_derived_sessions(
    db: &mut Db,
    ended: &[String],
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    statement::<Text>(match db {
        Db::Pg(_) => include_str!("end_derived_sessions.postgres.sql"),
        Db::Sqlite(_) => include_str!("end_derived_sessions.sqlite.sql"),
    })
    .bind::<Timestamp, _>(now)
    .bind::<Text, _>(json::to_text(&ended)?)
    .load(db)
}

/// Lists the SSO sessions that a session is or descends from, each with its expiry, nearest first. The list is empty
/// for a sign-in at the product itself.
pub(crate) fn list_ancestors(db: &mut Db, sid: &str) -> QueryResult<Vec<(String, NaiveDateTime)>> {
    let ancestors =
        statement::<(Text, Timestamp)>(include_str!("list_ancestors.sql")).bind::<Text, _>(sid);
    ancestors.load(db)
}

/// Lists the OAuth clients of these ended sessions that may no longer have integrations. They have no other live session
/// of the account with the required scopes. First-party clients are left out.
pub(crate) fn list_clients_without_session(
    db: &mut Db,
    user_id: UserId,
    ended: &[String],
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let others = diesel::alias!(sessions as others);
    let another = others
        .filter(others.field(sessions::user_id).eq(user_id))
        .filter(others.field(sessions::client_id).eq(sessions::client_id))
        // Every integration requires these two scopes. No other scope contains either name.
        .filter(others.field(sessions::scope).like("%sessions:read%"))
        .filter(others.field(sessions::scope).like("%integrations:write%"))
        .filter(others.field(sessions::revoked_at).is_null())
        .filter(others.field(sessions::expires_at).gt(now))
        .filter(others.field(sessions::refresh_expires_at).gt(now));
    let own = oauth_clients::table
        .filter(oauth_clients::id.nullable().eq(sessions::client_id))
        .filter(oauth_clients::is_first_party.eq(true));
    sessions::table
        .filter(sessions::id.eq_any(ended))
        .filter(not(exists(another)))
        .filter(not(exists(own)))
        .filter(sessions::client_id.is_not_null())
        .select(sessions::client_id.assume_not_null())
        .distinct()
        .order(sessions::client_id)
        .load(db)
}
