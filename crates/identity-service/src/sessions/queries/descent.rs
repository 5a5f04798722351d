//! Sessions that handed-over ones opened, and that end with them.

use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, cached, json};
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamp};

use crate::schema::{oauth_clients, sessions};

/// Ends what descends from sessions that have ended, and returns which. Call it with the account's row locked if they
/// were handed over: then nothing opens another descendant meanwhile.
pub(crate) fn end_descendants(
    db: &mut Db,
    ended: &[String],
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let end = diesel::sql_query(match db {
        Db::Pg(_) => include_str!("end_descendants.postgres.sql"),
        Db::Sqlite(_) => include_str!("end_descendants.sqlite.sql"),
    });
    let end = end
        .bind::<Timestamp, _>(now)
        .bind::<Text, _>(json::to_text(&ended)?);
    cached::<Text, _>(end).load(db)
}

/// The handed-over sessions that a session is one of, or descends from, with their ends; nearest first. None for
/// a sign-in at the product itself.
pub(crate) fn list_ancestors(db: &mut Db, sid: &str) -> QueryResult<Vec<(String, NaiveDateTime)>> {
    let ancestors = diesel::sql_query(include_str!("ancestors.sql")).bind::<Text, _>(sid);
    cached::<(Text, Timestamp), _>(ancestors).load(db)
}

/// The OAuth clients, first-party ones apart, that had one of these ended sessions and have none of the account any
/// more that may make hooks.
pub(crate) fn list_shut_out(
    db: &mut Db,
    user_id: UserId,
    ended: &[String],
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let others = diesel::alias!(sessions as others);
    let another = others
        .filter(others.field(sessions::user_id).eq(user_id))
        .filter(others.field(sessions::client_id).eq(sessions::client_id))
        // What every hook takes. No other scope has one of these names in it.
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
