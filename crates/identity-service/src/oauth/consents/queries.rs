use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Timestamp};

use super::model::{ClientSessionRow, ConsentRow};
use crate::columns::columns;
use crate::schema::{oauth_clients, oauth_consents, sessions};
use crate::token_access::Grant;

/// Finds the scope that an account has allowed a client.
pub(super) fn find_scope(
    db: &mut Db,
    user_id: UserId,
    client_id: &str,
) -> QueryResult<Option<String>> {
    oauth_consents::table
        .find((user_id.get(), client_id))
        .select(oauth_consents::scope)
        .first(db)
        .optional()
}

/// Stores the scope that an account allows a client.
pub(super) fn put_consent(
    db: &mut Db,
    user_id: UserId,
    client_id: &str,
    scope: &str,
    now: NaiveDateTime,
) -> QueryResult<()> {
    statement::<()>(
        "INSERT INTO oauth_consents (user_id, client_id, scope, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) \
         ON CONFLICT (user_id, client_id) DO UPDATE SET scope = excluded.scope, updated_at = excluded.updated_at",
    )
    .bind::<BigInt, _>(user_id)
    .bind::<Text, _>(client_id)
    .bind::<Text, _>(scope)
    .bind::<Timestamp, _>(now)
    .execute(db)
    .map(drop)
}

/// Deletes a consent. Returns false if there was none.
pub(super) fn delete_consent(db: &mut Db, user_id: UserId, client_id: &str) -> QueryResult<bool> {
    diesel::delete(oauth_consents::table.find((user_id.get(), client_id)))
        .execute(db)
        .map(|deleted| deleted == 1)
}

/// Deletes up to `limit` consents for a client. Returns the accounts that had given them.
pub(crate) fn delete_some(db: &mut Db, client_id: &str, limit: i64) -> QueryResult<Vec<UserId>> {
    let of_client = oauth_consents::table.filter(oauth_consents::client_id.eq(client_id));
    let some: Vec<UserId> = of_client
        .limit(limit)
        .select(oauth_consents::user_id)
        .load(db)?;
    diesel::delete(of_client.filter(oauth_consents::user_id.eq_any(some)))
        .returning(oauth_consents::user_id)
        .get_results(db)
}

/// Lists the consents of an account, sorted by the names of the clients.
pub(crate) fn list_consents(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<ConsentRow>> {
    oauth_consents::table
        .inner_join(oauth_clients::table)
        .filter(oauth_consents::user_id.eq(user_id))
        .order((oauth_clients::name, oauth_clients::id))
        .limit(limit)
        .select(columns::<ConsentRow>())
        .load(db)
}

/// Lists the active sessions that clients have for an account, most recently refreshed first.
pub(super) fn list_client_sessions(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
    now: NaiveDateTime,
) -> QueryResult<Vec<ClientSessionRow>> {
    let client = oauth_clients::id.nullable().eq(sessions::client_id);
    sessions::table
        .left_join(oauth_clients::table.on(client))
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::kind.eq(Grant::CLIENT))
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.gt(now))
        .filter(sessions::refresh_expires_at.gt(now))
        .order((sessions::refresh_rotated_at.desc(), sessions::id))
        .limit(limit)
        .select(columns::<ClientSessionRow>())
        .load(db)
}

/// Revokes a client's sessions for an account. Returns the ids of those that were not revoked before.
pub(super) fn revoke_sessions(
    db: &mut Db,
    user_id: UserId,
    client_id: &str,
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let unrevoked = sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::kind.eq(Grant::CLIENT))
        .filter(sessions::client_id.eq(client_id))
        .filter(sessions::revoked_at.is_null());
    if let Db::Pg(conn) = db {
        // The rows are locked in the same order everywhere; otherwise a concurrent sign-out would deadlock.
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
