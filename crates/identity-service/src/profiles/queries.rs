use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use crate::accounts::model::AccountRow;
use crate::columns::columns;
use crate::schema::users;

/// What changes in a row of `users`; `None` leaves a column alone.
#[derive(AsChangeset)]
#[diesel(table_name = users)]
pub(super) struct ProfileChanges<'a> {
    pub(super) bio: Option<Option<&'a str>>,
    pub(super) website_url: Option<Option<&'a str>>,
    pub(super) email: Option<&'a str>,
    pub(super) email_verified: Option<bool>,
    pub(super) updated_at: NaiveDateTime,
}

/// Makes every other change of an active account wait for the end of the transaction; the account as it
/// is then. An UPDATE, because both databases lock with it.
pub(super) fn lock_account(db: &mut Db, id: UserId) -> QueryResult<Option<AccountRow>> {
    let active = users::table.find(id).filter(users::is_active.eq(true));
    diesel::update(active)
        .set(users::updated_at.eq(users::updated_at))
        .returning(columns::<AccountRow>())
        .get_result(db)
        .optional()
}

pub(super) fn update_profile(
    db: &mut Db,
    id: UserId,
    changes: &ProfileChanges<'_>,
) -> QueryResult<()> {
    diesel::update(users::table.find(id))
        .set(changes)
        .execute(db)
        .map(drop)
}
