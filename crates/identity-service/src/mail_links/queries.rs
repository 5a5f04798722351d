use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use crate::schema::mail_tokens;

#[derive(Insertable)]
#[diesel(table_name = mail_tokens)]
pub(super) struct NewMailToken<'a> {
    pub(super) token_hash: &'a str,
    pub(super) purpose: &'a str,
    pub(super) user_id: i64,
    pub(super) email: &'a str,
    pub(super) created_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
}

pub(super) fn replace(db: &mut Db, token: &NewMailToken<'_>) -> QueryResult<()> {
    let older = mail_tokens::table
        .filter(mail_tokens::user_id.eq(token.user_id))
        .filter(mail_tokens::purpose.eq(token.purpose));
    diesel::delete(older).execute(db)?;
    diesel::insert_into(mail_tokens::table)
        .values(token)
        .execute(db)
        .map(drop)
}

pub(super) fn take(
    db: &mut Db,
    purpose: &str,
    token_hash: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<(UserId, String)>> {
    let good = mail_tokens::table
        .find(token_hash)
        .filter(mail_tokens::purpose.eq(purpose))
        .filter(mail_tokens::expires_at.gt(now));
    diesel::delete(good)
        .returning((mail_tokens::user_id, mail_tokens::email))
        .get_result::<(UserId, String)>(db)
        .optional()
}

pub(super) fn find_holder(
    db: &mut Db,
    purpose: &str,
    token_hash: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<(UserId, String)>> {
    mail_tokens::table
        .find(token_hash)
        .filter(mail_tokens::purpose.eq(purpose))
        .filter(mail_tokens::expires_at.gt(now))
        .select((mail_tokens::user_id, mail_tokens::email))
        .first(db)
        .optional()
}

/// Deletes an account's tokens, except those of one purpose and address.
pub(super) fn remove_but(
    db: &mut Db,
    user_id: UserId,
    (purpose, address): (&str, &str),
) -> QueryResult<()> {
    let others = mail_tokens::table
        .filter(mail_tokens::user_id.eq(user_id))
        .filter(
            mail_tokens::purpose
                .ne(purpose)
                .or(mail_tokens::email.ne(address)),
        );
    diesel::delete(others).execute(db).map(drop)
}
