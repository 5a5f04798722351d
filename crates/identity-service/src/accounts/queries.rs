use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp};

use super::model::{AccountRow, CredentialsRow, NewAccount};
use crate::columns::columns;
use crate::schema::users;

pub(crate) fn username_exists(db: &mut Db, username_lower: &str) -> QueryResult<bool> {
    diesel::select(exists(
        users::table.filter(users::username_lower.eq(username_lower)),
    ))
    .get_result(db)
}

pub(crate) fn insert_account(db: &mut Db, account: &NewAccount<'_>) -> QueryResult<UserId> {
    diesel::insert_into(users::table)
        .values(account)
        .returning(users::id)
        .get_result(db)
}

/// A claim of an account to an e-mail address.
pub(crate) struct EmailClaim {
    pub(crate) email_lower: String,
    pub(crate) user_id: UserId,
    /// When the claim expires unless the address is verified; `None` for a verified address.
    pub(crate) expires_at: Option<NaiveDateTime>,
    /// Whether the password was presented, or chosen, with the address; otherwise no reset link goes to it.
    pub(crate) confirmed: bool,
    pub(crate) now: NaiveDateTime,
}

/// Claims an e-mail address. A temporary claim succeeds if no claim is in force; a permanent one fails only if
/// another account has a permanent claim. Returns whether it succeeded.
pub(crate) fn claim_email(db: &mut Db, claim: &EmailClaim) -> QueryResult<bool> {
    let insert = statement::<()>(
        "INSERT INTO email_claims (email_lower, user_id, expires_at, confirmed) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (email_lower) DO UPDATE \
         SET user_id = excluded.user_id, expires_at = excluded.expires_at, confirmed = excluded.confirmed \
         WHERE CASE WHEN excluded.expires_at IS NULL \
         THEN email_claims.user_id = excluded.user_id OR email_claims.expires_at IS NOT NULL \
         ELSE email_claims.expires_at <= $5 END",
    )
    .bind::<Text, _>(&claim.email_lower)
    .bind::<BigInt, _>(claim.user_id)
    .bind::<Nullable<Timestamp>, _>(claim.expires_at)
    .bind::<Bool, _>(claim.confirmed)
    .bind::<Timestamp, _>(claim.now);
    let claimed = insert.execute(db)?;
    Ok(claimed == 1)
}

pub(crate) fn find_account(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    users::table
        .find(id)
        .select(columns::<AccountRow>())
        .first(db)
        .optional()
}

/// Returns an account by name, active or not.
pub(crate) fn find_by_name(db: &mut Db, username_lower: &str) -> QueryResult<Option<AccountRow>> {
    users::table
        .filter(users::username_lower.eq(username_lower))
        .select(columns::<AccountRow>())
        .first(db)
        .optional()
}

pub(crate) fn find_credentials(
    db: &mut Db,
    username_lower: &str,
) -> QueryResult<Option<CredentialsRow>> {
    users::table
        .filter(users::username_lower.eq(username_lower))
        .select(columns::<CredentialsRow>())
        .first(db)
        .optional()
}

/// Replaces the password hash of an active account if it still is `old`; `new` may be the same hash. Returns whether
/// it was replaced, which locks the account until the transaction ends.
pub(crate) fn replace_hash(db: &mut Db, id: UserId, old: &str, new: &str) -> QueryResult<bool> {
    let known = users::table
        .find(id)
        .filter(users::password_hash.eq(old))
        .filter(users::is_active.eq(true));
    diesel::update(known)
        .set(users::password_hash.eq(new))
        .execute(db)
        .map(|replaced| replaced == 1)
}

/// Replaces a password hash and locks the account. Returns false if the account does not exist.
pub(crate) fn set_hash(db: &mut Db, id: UserId, hash: &str) -> QueryResult<bool> {
    diesel::update(users::table.find(id))
        .set(users::password_hash.eq(hash))
        .execute(db)
        .map(|replaced| replaced == 1)
}

/// Locks an account against changes and sign-ins until the transaction ends, and returns its current row. Uses an
/// UPDATE, because that locks in both databases.
pub(crate) fn lock_account(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    diesel::update(users::table.find(id))
        .set(users::is_active.eq(users::is_active))
        .returning(columns::<AccountRow>())
        .get_result(db)
        .optional()
}

/// Locks an account like [`lock_account`], and returns it only if it is active.
pub(crate) fn lock_active(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    Ok(lock_account(db, id)?.filter(|account| account.is_active))
}

pub(crate) fn count_active(db: &mut Db) -> QueryResult<i64> {
    users::table
        .filter(users::is_active.eq(true))
        .count()
        .get_result(db)
}
