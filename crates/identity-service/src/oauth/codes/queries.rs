use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::model::{CodeRow, NewCodeRow};
use crate::columns::columns;
use crate::schema::oauth_codes;

pub(super) fn insert_code(db: &mut Db, code: &NewCodeRow<'_>) -> QueryResult<()> {
    diesel::insert_into(oauth_codes::table)
        .values(code)
        .execute(db)
        .map(drop)
}

/// Finds a code that was issued to this client.
pub(super) fn find_code(db: &mut Db, hash: &str, client_id: &str) -> QueryResult<Option<CodeRow>> {
    oauth_codes::table
        .find(hash)
        .filter(oauth_codes::client_id.eq(client_id))
        .select(columns::<CodeRow>())
        .first(db)
        .optional()
}

/// Marks a code as used by this session. Returns false if it was used before or has expired. The condition of the statement
/// lets only one of several concurrent requests succeed.
pub(super) fn use_up(
    db: &mut Db,
    hash: &str,
    session_id: &str,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let unused = oauth_codes::table
        .find(hash)
        .filter(oauth_codes::used_at.is_null())
        .filter(oauth_codes::expires_at.gt(now));
    diesel::update(unused)
        .set((
            oauth_codes::used_at.eq(now),
            oauth_codes::session_id.eq(session_id),
        ))
        .execute(db)
        .map(|used| used == 1)
}

/// Finds the session that a used code opened.
pub(super) fn find_given(db: &mut Db, hash: &str) -> QueryResult<Option<String>> {
    let given: Option<Option<String>> = oauth_codes::table
        .find(hash)
        .select(oauth_codes::session_id)
        .first(db)
        .optional()?;
    Ok(given.flatten())
}

/// Deletes an account's codes for a client. Returns their number.
pub(crate) fn delete_of(db: &mut Db, user_id: UserId, client_id: &str) -> QueryResult<usize> {
    let given = oauth_codes::table
        .filter(oauth_codes::user_id.eq(user_id))
        .filter(oauth_codes::client_id.eq(client_id));
    diesel::delete(given).execute(db)
}
