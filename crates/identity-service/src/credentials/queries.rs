use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::schema::{email_claims, users};

#[diesel::declare_sql_function]
extern "SQL" {
    /// Addresses are ASCII, so that both databases agree on the result.
    fn lower(text: Text) -> Text;
}

/// Returns the password hash of an active account.
pub(super) fn find_hash(db: &mut Db, id: UserId) -> QueryResult<Option<String>> {
    users::table
        .find(id)
        .filter(users::is_active.eq(true))
        .select(users::password_hash)
        .first(db)
        .optional()
}

/// Returns the account whose claim to an address is in force.
pub(super) fn find_claimant(
    db: &mut Db,
    email_lower: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<UserId>> {
    email_claims::table
        .find(email_lower)
        .filter(is_valid_at(now))
        .select(email_claims::user_id)
        .first(db)
        .optional()
}

/// Whether an account has a claim to an address that expires at exactly this time.
pub(super) fn claims_until(
    db: &mut Db,
    email_lower: &str,
    id: UserId,
    until: NaiveDateTime,
) -> QueryResult<bool> {
    let claim = email_claims::table
        .find(email_lower)
        .filter(email_claims::user_id.eq(id))
        .filter(email_claims::expires_at.eq(until));
    diesel::select(exists(claim)).get_result(db)
}

/// Whether another account has verified an address, or has a claim to it that is in force.
pub(super) fn is_claimed_by_other(
    db: &mut Db,
    email_lower: &str,
    id: UserId,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let claim = email_claims::table
        .find(email_lower)
        .filter(email_claims::user_id.ne(id))
        .filter(is_valid_at(now));
    diesel::select(exists(claim)).get_result(db)
}

/// Whether the password was presented for an address; `None` if the account has no claim to it.
pub(super) fn find_confirmed(
    db: &mut Db,
    email_lower: &str,
    id: UserId,
) -> QueryResult<Option<bool>> {
    email_claims::table
        .find(email_lower)
        .filter(email_claims::user_id.eq(id))
        .select(email_claims::confirmed)
        .first(db)
        .optional()
}

/// Records that the password was presented for an address that an account claims.
pub(super) fn confirm(db: &mut Db, email_lower: &str, id: UserId) -> QueryResult<()> {
    let claim = email_claims::table
        .find(email_lower)
        .filter(email_claims::user_id.eq(id));
    diesel::update(claim)
        .set(email_claims::confirmed.eq(true))
        .execute(db)
        .map(drop)
}

/// Deletes the claims of an account to every other address.
pub(super) fn remove_other_claims(db: &mut Db, id: UserId, email_lower: &str) -> QueryResult<()> {
    let others = email_claims::table
        .filter(email_claims::user_id.eq(id))
        .filter(email_claims::email_lower.ne(email_lower));
    diesel::delete(others).execute(db).map(drop)
}

/// Sets an account's address, which it has verified.
pub(super) fn set_verified_email(
    db: &mut Db,
    id: UserId,
    email: &str,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(users::table.find(id))
        .set((
            users::email.eq(email),
            users::email_verified.eq(true),
            users::updated_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

/// Replaces an address by the placeholder in every account but `id` that has it unverified. Returns the changed rows.
pub(super) fn take_email(
    db: &mut Db,
    email_lower: &str,
    id: UserId,
    now: NaiveDateTime,
) -> QueryResult<Vec<(UserId, String)>> {
    let others = users::table
        .filter(lower(users::email).eq(email_lower))
        .filter(users::email_verified.eq(false))
        .filter(users::id.ne(id));
    diesel::update(others)
        .set((
            users::email.eq(users::username.concat("@placeholder.invalid")),
            users::updated_at.eq(now),
        ))
        .returning((users::id, users::email))
        .get_results(db)
}

#[diesel::dsl::auto_type]
fn is_valid_at(now: NaiveDateTime) -> _ {
    email_claims::expires_at
        .is_null()
        .or(email_claims::expires_at.gt(now))
}
