use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::model::{IDLE_LIFE, NewSessionRow, RefreshRow};
use crate::accounts::model::{ACCOUNT, AccountRow};
use crate::schema::{sessions, users};
use crate::tokens::refresh::RefreshToken;

pub(crate) fn insert_session(db: &mut Db, row: &NewSessionRow<'_>) -> QueryResult<()> {
    diesel::insert_into(sessions::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// A session's account, and whether the session was revoked: all that validation asks of the database.
pub(crate) fn find_session_account(
    db: &mut Db,
    session_id: &str,
) -> QueryResult<Option<(Option<NaiveDateTime>, AccountRow)>> {
    sessions::table
        .inner_join(users::table)
        .filter(sessions::id.eq(session_id))
        .select((sessions::revoked_at, ACCOUNT))
        .first(db)
        .optional()
}

/// Replaces the presented refresh token by its successor if it is the one that is good now. This one
/// statement decides every race: of any number of callers with the same token one gets a row.
pub(crate) fn rotate(
    db: &mut Db,
    presented: &RefreshToken,
    successor: &RefreshToken,
    now: NaiveDateTime,
) -> QueryResult<Option<(String, UserId)>> {
    let good = sessions::table
        .filter(sessions::refresh_lineage.eq(presented.lineage()))
        .filter(sessions::refresh_hash.eq(presented.hash()))
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.gt(now))
        .filter(sessions::refresh_expires_at.gt(now));
    diesel::update(good)
        .set((
            sessions::refresh_hash.eq(successor.hash()),
            sessions::refresh_previous_hash.eq(presented.hash()),
            sessions::refresh_rotated_at.eq(now),
            sessions::refresh_expires_at.eq(now + IDLE_LIFE),
        ))
        .returning((sessions::id, sessions::user_id))
        .get_result(db)
        .optional()
}

pub(crate) fn find_lineage(db: &mut Db, lineage: &str) -> QueryResult<Option<RefreshRow>> {
    sessions::table
        .filter(sessions::refresh_lineage.eq(lineage))
        .select((
            sessions::id,
            sessions::user_id,
            sessions::expires_at,
            sessions::revoked_at,
            sessions::refresh_hash,
            sessions::refresh_previous_hash,
            sessions::refresh_rotated_at,
            sessions::refresh_expires_at,
        ))
        .first(db)
        .optional()
}

/// Ends a session; false when it had ended before.
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

/// The session of a refresh token if it is this account's.
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
