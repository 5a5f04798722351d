use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::model::{ACCOUNT, AccountRow, CredentialsRow, EmailClaim, NewAccount};
use crate::schema::{email_claims, users};

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

/// Claims an e-mail address; false while somebody else's claim holds.
pub(crate) fn claim_email(
    db: &mut Db,
    email_lower: &str,
    claim: &EmailClaim,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let claimed = on_backend!(db, c => {
        let insert = diesel::insert_into(email_claims::table)
            .values((
                email_claims::email_lower.eq(email_lower),
                email_claims::user_id.eq(claim.user_id),
                email_claims::expires_at.eq(claim.expires_at),
                email_claims::confirmed.eq(claim.confirmed),
            ))
            .on_conflict(email_claims::email_lower)
            .do_update()
            .set((
                email_claims::user_id.eq(excluded(email_claims::user_id)),
                email_claims::expires_at.eq(excluded(email_claims::expires_at)),
                email_claims::confirmed.eq(excluded(email_claims::confirmed)),
            ));
        diesel::query_dsl::methods::FilterDsl::filter(insert, email_claims::expires_at.le(now)).execute(c)
    })?;
    Ok(claimed == 1)
}

pub(crate) fn find_account(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    users::table.find(id).select(ACCOUNT).first(db).optional()
}

pub(crate) fn find_active_by_name(
    db: &mut Db,
    username_lower: &str,
) -> QueryResult<Option<AccountRow>> {
    users::table
        .filter(users::username_lower.eq(username_lower))
        .filter(users::is_active.eq(true))
        .select(ACCOUNT)
        .first(db)
        .optional()
}

pub(crate) fn find_credentials(
    db: &mut Db,
    username_lower: &str,
) -> QueryResult<Option<CredentialsRow>> {
    users::table
        .filter(users::username_lower.eq(username_lower))
        .select((users::id, users::password_hash, users::is_active))
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

/// Makes others who change the account, or sign in to it, wait for the end of the transaction; false when
/// it is gone. An UPDATE, because both databases lock with it.
pub(crate) fn lock_account(db: &mut Db, id: UserId) -> QueryResult<bool> {
    diesel::update(users::table.find(id))
        .set(users::is_active.eq(users::is_active))
        .execute(db)
        .map(|locked| locked == 1)
}

pub(crate) fn count_active(db: &mut Db) -> QueryResult<i64> {
    users::table
        .filter(users::is_active.eq(true))
        .count()
        .get_result(db)
}
