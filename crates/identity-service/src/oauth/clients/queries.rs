use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;

use super::model::ClientRow;
use crate::columns::columns;
use crate::schema::{oauth_clients, sessions};

pub(crate) fn find(db: &mut Db, id: &str) -> QueryResult<Option<ClientRow>> {
    oauth_clients::table.find(id).first(db).optional()
}

/// Lists clients, oldest first.
pub(super) fn list(db: &mut Db, limit: i64) -> QueryResult<Vec<ClientRow>> {
    oauth_clients::table
        .order((oauth_clients::created_at, oauth_clients::id))
        .limit(limit)
        .load(db)
}

pub(super) fn count(db: &mut Db) -> QueryResult<i64> {
    oauth_clients::table.count().get_result(db)
}

/// Lists the ids of the clients that the configuration defines.
pub(super) fn list_configured(db: &mut Db) -> QueryResult<Vec<String>> {
    oauth_clients::table
        .filter(oauth_clients::is_configured.eq(true))
        .select(oauth_clients::id)
        .load(db)
}

pub(super) fn upsert(db: &mut Db, row: &ClientRow) -> QueryResult<()> {
    on_backend!(db, c => diesel::insert_into(oauth_clients::table)
        .values(row)
        .on_conflict(oauth_clients::id)
        .do_update()
        .set(row)
        .execute(c))
    .map(drop)
}

pub(super) fn insert(db: &mut Db, row: &ClientRow) -> QueryResult<()> {
    diesel::insert_into(oauth_clients::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// Locks and returns a client that the configuration does not define.
pub(super) fn lock_registered(db: &mut Db, id: &str) -> QueryResult<Option<ClientRow>> {
    let registered = oauth_clients::table
        .find(id)
        .filter(oauth_clients::is_configured.eq(false));
    diesel::update(registered)
        .set(oauth_clients::updated_at.eq(oauth_clients::updated_at))
        .returning(columns::<ClientRow>())
        .get_result(db)
        .optional()
}

/// Writes a client that the caller has locked.
pub(super) fn update(db: &mut Db, row: &ClientRow) -> QueryResult<()> {
    diesel::update(oauth_clients::table.find(&row.id))
        .set(row)
        .execute(db)
        .map(drop)
}

/// Replaces the secret of a confidential client that the configuration does not define. Returns false if there is none.
pub(super) fn replace_secret(
    db: &mut Db,
    id: &str,
    secret_hash: &str,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let confidential = oauth_clients::table
        .find(id)
        .filter(oauth_clients::secret_hash.is_not_null())
        .filter(oauth_clients::is_configured.eq(false));
    diesel::update(confidential)
        .set((
            oauth_clients::secret_hash.eq(secret_hash),
            oauth_clients::updated_at.eq(now),
        ))
        .execute(db)
        .map(|replaced| replaced == 1)
}

/// Records the challenge method of a client's last code, if it has changed.
pub(crate) fn set_pkce_seen(db: &mut Db, id: &str, method: &str) -> QueryResult<()> {
    let other = oauth_clients::table.find(id).filter(
        oauth_clients::pkce_seen
            .is_null()
            .or(oauth_clients::pkce_seen.ne(method)),
    );
    diesel::update(other)
        .set(oauth_clients::pkce_seen.eq(method))
        .execute(db)
        .map(drop)
}

pub(super) fn delete(db: &mut Db, id: &str) -> QueryResult<bool> {
    diesel::delete(oauth_clients::table.find(id))
        .execute(db)
        .map(|deleted| deleted == 1)
}

/// Lists the ids of deleted clients that still have sessions.
pub(super) fn list_gone(db: &mut Db) -> QueryResult<Vec<String>> {
    let there = oauth_clients::table.select(oauth_clients::id.nullable());
    sessions::table
        .filter(sessions::client_id.is_not_null())
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::client_id.ne_all(there))
        .select(sessions::client_id.assume_not_null())
        .distinct()
        .load(db)
}
