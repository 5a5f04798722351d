use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use crate::schema::users;

/// The changes of a row of `users`. `None` leaves a column unchanged.
#[derive(AsChangeset)]
#[diesel(table_name = users)]
pub(super) struct ProfileChanges<'a> {
    pub(super) display_name: Option<Option<&'a str>>,
    pub(super) bio: Option<Option<&'a str>>,
    pub(super) website_url: Option<Option<&'a str>>,
    pub(super) locale: Option<Option<&'a str>>,
    pub(super) zoneinfo: Option<Option<&'a str>>,
    pub(super) email: Option<&'a str>,
    pub(super) email_verified: Option<bool>,
    pub(super) updated_at: NaiveDateTime,
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
