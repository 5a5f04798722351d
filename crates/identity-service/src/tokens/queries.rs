use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;

use super::algorithm::SigningAlgorithm;
use crate::columns::columns;
use crate::schema::signing_keys;

/// A stored signing key.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = signing_keys)]
pub(crate) struct SigningKeyRow {
    pub(crate) kid: String,
    pub(crate) algorithm: String,
    pub(crate) generation: i64,
    pub(crate) private_key_sealed: String,
    pub(crate) public_jwk: String,
    pub(crate) created_at: NaiveDateTime,
    /// When its successor begins to sign.
    pub(crate) retired_at: Option<NaiveDateTime>,
    pub(crate) longest_ttl_seconds: i64,
    pub(crate) signs_from: NaiveDateTime,
}

/// One algorithm never has more keys than this at once.
const MAX_KEYS: i64 = 1_000;

#[derive(Insertable)]
#[diesel(table_name = signing_keys)]
pub(crate) struct NewSigningKey {
    pub(crate) kid: String,
    pub(crate) algorithm: &'static str,
    pub(crate) generation: i64,
    pub(crate) private_key_sealed: String,
    pub(crate) public_jwk: String,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) longest_ttl_seconds: i64,
    pub(crate) signs_from: NaiveDateTime,
}

impl SigningKeyRow {
    /// Whether the private half is present. Retired keys lose it.
    pub(crate) fn can_sign(&self) -> bool {
        !self.private_key_sealed.is_empty()
    }
}

/// Lists the keys of an algorithm, newest first.
pub(crate) fn list_keys(
    db: &mut Db,
    algorithm: SigningAlgorithm,
) -> QueryResult<Vec<SigningKeyRow>> {
    signing_keys::table
        .filter(signing_keys::algorithm.eq(algorithm.as_str()))
        .order(signing_keys::generation.desc())
        .limit(MAX_KEYS)
        .select(columns::<SigningKeyRow>())
        .load(db)
}

/// Inserts a key. False if another replica has already created one of this generation.
pub(crate) fn insert_key(db: &mut Db, key: &NewSigningKey) -> QueryResult<bool> {
    on_backend!(db, c => diesel::insert_into(signing_keys::table)
        .values(key)
        .on_conflict((signing_keys::algorithm, signing_keys::generation))
        .do_nothing()
        .execute(c))
    .map(|inserted| inserted == 1)
}

/// Retires the keys older than `generation` from the time on at which that one signs.
pub(crate) fn retire_older(
    db: &mut Db,
    algorithm: SigningAlgorithm,
    generation: i64,
    signs_from: NaiveDateTime,
) -> QueryResult<()> {
    let later = signing_keys::retired_at.gt(signs_from);
    let older = signing_keys::table
        .filter(signing_keys::algorithm.eq(algorithm.as_str()))
        .filter(signing_keys::generation.lt(generation))
        .filter(signing_keys::retired_at.is_null().or(later));
    diesel::update(older)
        .set(signing_keys::retired_at.eq(signs_from))
        .execute(db)
        .map(drop)
}

/// Erases the private halves of retired keys, and returns their number.
pub(crate) fn erase_retired(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let retired = signing_keys::table
        .filter(signing_keys::retired_at.le(now))
        .filter(signing_keys::private_key_sealed.ne(""));
    diesel::update(retired)
        .set(signing_keys::private_key_sealed.eq(""))
        .execute(db)
}

/// Raises the longest token lifetime of an algorithm's keys that may sign.
pub(crate) fn raise_ttl(
    db: &mut Db,
    algorithm: SigningAlgorithm,
    ttl_seconds: i64,
) -> QueryResult<()> {
    let shorter = signing_keys::table
        .filter(signing_keys::algorithm.eq(algorithm.as_str()))
        .filter(signing_keys::private_key_sealed.ne(""))
        .filter(signing_keys::longest_ttl_seconds.lt(ttl_seconds));
    diesel::update(shorter)
        .set(signing_keys::longest_ttl_seconds.eq(ttl_seconds))
        .execute(db)
        .map(drop)
}

/// Replaces the sealed private half of a key unless it has changed since, and returns the number of changed rows.
pub(crate) fn replace_sealed(
    db: &mut Db,
    kid: &str,
    sealed: &str,
    fresh: &str,
) -> QueryResult<usize> {
    let same = signing_keys::table
        .find(kid)
        .filter(signing_keys::private_key_sealed.eq(sealed));
    diesel::update(same)
        .set(signing_keys::private_key_sealed.eq(fresh))
        .execute(db)
}

/// Deletes a retired key. False if there is none with this id.
pub(crate) fn remove_retired(db: &mut Db, kid: &str, now: NaiveDateTime) -> QueryResult<bool> {
    let retired = signing_keys::table
        .find(kid)
        .filter(signing_keys::retired_at.le(now));
    diesel::delete(retired)
        .execute(db)
        .map(|removed| removed == 1)
}
