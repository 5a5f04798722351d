use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, cached};
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

/// That an address is an account's.
pub(crate) struct EmailClaim {
    pub(crate) email_lower: String,
    pub(crate) user_id: UserId,
    /// When it runs out unless it is proved before; none for one that is proved.
    pub(crate) expires_at: Option<NaiveDateTime>,
    /// Whether who gave the address has shown, or chosen, the password: without that it never gets a link to a new one.
    pub(crate) confirmed: bool,
    pub(crate) now: NaiveDateTime,
}

/// Claims an e-mail address; false while somebody else's claim holds, and for one that is proved, when somebody else had
/// proved it before.
pub(crate) fn claim_email(db: &mut Db, claim: &EmailClaim) -> QueryResult<bool> {
    let insert = diesel::sql_query(
        "INSERT INTO email_claims (email_lower, user_id, expires_at, confirmed) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (email_lower) DO UPDATE \
         SET user_id = excluded.user_id, expires_at = excluded.expires_at, confirmed = excluded.confirmed \
         WHERE CASE WHEN excluded.expires_at IS NULL \
         THEN email_claims.user_id = excluded.user_id OR email_claims.expires_at IS NOT NULL \
         ELSE email_claims.expires_at <= $5 END",
    );
    let insert = insert
        .bind::<Text, _>(&claim.email_lower)
        .bind::<BigInt, _>(claim.user_id)
        .bind::<Nullable<Timestamp>, _>(claim.expires_at)
        .bind::<Bool, _>(claim.confirmed)
        .bind::<Timestamp, _>(claim.now);
    let claimed = cached::<(), _>(insert).execute(db)?;
    Ok(claimed == 1)
}

pub(crate) fn find_account(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    users::table
        .find(id)
        .select(columns::<AccountRow>())
        .first(db)
        .optional()
}

/// An account by name, active or not.
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

/// Replaces a password hash, perhaps by itself, if it is still the one of an active account; locks the
/// account for the rest of the transaction then.
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

/// Replaces a password hash; false when there is no such account. Locks the account.
pub(crate) fn set_hash(db: &mut Db, id: UserId, hash: &str) -> QueryResult<bool> {
    diesel::update(users::table.find(id))
        .set(users::password_hash.eq(hash))
        .execute(db)
        .map(|replaced| replaced == 1)
}

/// Makes others who change the account, or sign in to it, wait for the end of the transaction; the account as
/// it is then, or none when it is gone. An UPDATE, because both databases lock with it.
pub(crate) fn lock_account(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    diesel::update(users::table.find(id))
        .set(users::is_active.eq(users::is_active))
        .returning(columns::<AccountRow>())
        .get_result(db)
        .optional()
}

/// The same of an account that somebody may sign in to.
pub(crate) fn lock_active(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    Ok(lock_account(db, id)?.filter(|account| account.is_active))
}

pub(crate) fn count_active(db: &mut Db) -> QueryResult<i64> {
    users::table
        .filter(users::is_active.eq(true))
        .count()
        .get_result(db)
}
