use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Timestamp};

use super::model::{ClientSessionRow, ConsentRow};
use crate::access::Grant;
use crate::columns::columns;
use crate::schema::{oauth_clients, oauth_consents, sessions};

/// What an account has allowed a client.
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

/// Writes down what an account allows a client from now on.
pub(super) fn put_consent(
    db: &mut Db,
    user_id: UserId,
    client_id: &str,
    scope: &str,
    now: NaiveDateTime,
) -> QueryResult<()> {
    let put = diesel::sql_query(
        "INSERT INTO oauth_consents (user_id, client_id, scope, created_at, updated_at) VALUES ($1, $2, $3, $4, $4) \
         ON CONFLICT (user_id, client_id) DO UPDATE SET scope = excluded.scope, updated_at = excluded.updated_at",
    );
    let put = put
        .bind::<BigInt, _>(user_id)
        .bind::<Text, _>(client_id)
        .bind::<Text, _>(scope)
        .bind::<Timestamp, _>(now);
    cached::<(), _>(put).execute(db).map(drop)
}

/// Removes what an account allowed a client; false when it was nothing.
pub(super) fn delete_consent(db: &mut Db, user_id: UserId, client_id: &str) -> QueryResult<bool> {
    diesel::delete(oauth_consents::table.find((user_id.get(), client_id)))
        .execute(db)
        .map(|deleted| deleted == 1)
}

/// Removes some of what accounts allowed a client, and says whose it was.
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

/// What an account has allowed clients, by their names.
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

/// The sessions that clients have of an account and that are not over, latest first.
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

/// Ends the sessions that a client has of an account, and says which have ended by this.
pub(super) fn revoke_sessions(
    db: &mut Db,
    user_id: UserId,
    client_id: &str,
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let standing = sessions::table
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::kind.eq(Grant::CLIENT))
        .filter(sessions::client_id.eq(client_id))
        .filter(sessions::revoked_at.is_null());
    if let Db::Pg(conn) = db {
        // In one order for everybody: who signs out at the same time would deadlock with this.
        standing
            .order(sessions::id)
            .select(sessions::id)
            .for_update()
            .load::<String>(conn)?;
    }
    diesel::update(standing)
        .set(sessions::revoked_at.eq(now))
        .returning(sessions::id)
        .get_results(db)
}
