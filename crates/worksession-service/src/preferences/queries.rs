use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;

use super::model::{PreferencesChanges, PreferencesRow};
use crate::columns::columns;
use crate::schema::user_settings as settings;

/// Returns the user's preferences, or the defaults for a user who never changed any.
pub(crate) fn get_or_default(db: &mut Db, user: UserId) -> QueryResult<PreferencesRow> {
    let row = settings::table
        .filter(settings::user_id.eq(user))
        .select(columns::<PreferencesRow>())
        .first(db)
        .optional()?;
    Ok(row.unwrap_or_default())
}

/// Lists the preferences of those users who ever changed any.
pub(crate) fn list(db: &mut Db, users: &[UserId]) -> QueryResult<Vec<(UserId, PreferencesRow)>> {
    on_backend!(db, conn => settings::table
        .filter(settings::user_id.eq_any(users))
        .select((settings::user_id, columns::<PreferencesRow>()))
        .load(conn))
}

/// Locks the user's preferences until the transaction ends, and returns them. Missing ones are inserted with the defaults.
pub(super) fn lock(db: &mut Db, user: UserId, now: NaiveDateTime) -> QueryResult<PreferencesRow> {
    let row = (
        settings::user_id.eq(user),
        PreferencesRow::default(),
        settings::updated_at.eq(now),
    );
    // An update without an effect locks the row on both databases, and returns it in the same statement.
    on_backend!(db, conn => diesel::insert_into(settings::table)
        .values(row)
        .on_conflict(settings::user_id)
        .do_update()
        .set(settings::user_id.eq(user))
        .returning(columns::<PreferencesRow>())
        .get_result(conn))
}

pub(super) fn update(
    db: &mut Db,
    user: UserId,
    changes: &PreferencesChanges,
) -> QueryResult<PreferencesRow> {
    diesel::update(settings::table.filter(settings::user_id.eq(user)))
        .set(changes)
        .returning(columns::<PreferencesRow>())
        .get_result(db)
}
