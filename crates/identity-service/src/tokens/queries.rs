use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;

use crate::schema::signing_keys;

/// A key that signs access tokens, as stored.
#[derive(Queryable)]
pub(crate) struct SigningKeyRow {
    pub(crate) kid: String,
    pub(crate) generation: i64,
    pub(crate) private_key_sealed: String,
    pub(crate) public_jwk: String,
    pub(crate) retired_at: Option<NaiveDateTime>,
}

type SigningKeyColumns = (
    signing_keys::kid,
    signing_keys::generation,
    signing_keys::private_key_sealed,
    signing_keys::public_jwk,
    signing_keys::retired_at,
);

const SIGNING_KEY: SigningKeyColumns = (
    signing_keys::kid,
    signing_keys::generation,
    signing_keys::private_key_sealed,
    signing_keys::public_jwk,
    signing_keys::retired_at,
);

/// More keys than this of one algorithm are never alive at once.
const MAX_KEYS: i64 = 100;

/// A row of `signing_keys` to be.
#[derive(Insertable)]
#[diesel(table_name = signing_keys)]
pub(crate) struct NewSigningKey<'a> {
    pub(crate) kid: &'a str,
    pub(crate) algorithm: &'a str,
    pub(crate) generation: i64,
    pub(crate) private_key_sealed: &'a str,
    pub(crate) public_jwk: &'a str,
    pub(crate) created_at: NaiveDateTime,
}

/// The keys of an algorithm, newest first.
pub(crate) fn list_keys(db: &mut Db, algorithm: &str) -> QueryResult<Vec<SigningKeyRow>> {
    signing_keys::table
        .filter(signing_keys::algorithm.eq(algorithm))
        .order(signing_keys::generation.desc())
        .limit(MAX_KEYS)
        .select(SIGNING_KEY)
        .load(db)
}

/// Adds a key unless its algorithm has one of that generation already, made by another replica.
pub(crate) fn insert_key(db: &mut Db, key: &NewSigningKey<'_>) -> QueryResult<()> {
    on_backend!(db, c => diesel::insert_into(signing_keys::table)
        .values(key)
        .on_conflict((signing_keys::algorithm, signing_keys::generation))
        .do_nothing()
        .execute(c))
    .map(drop)
}
