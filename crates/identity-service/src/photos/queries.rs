use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Binary, Text};

use super::model::{NewPhoto, PhotoOwner, PhotoOwnerRow, PhotoRow};
use crate::columns::columns;
use crate::schema::{profile_photos, users};

pub(super) fn find_owner(db: &mut Db, owner: &PhotoOwner) -> QueryResult<Option<PhotoOwnerRow>> {
    match owner {
        PhotoOwner::Id(id) => users::table
            .find(*id)
            .select(columns::<PhotoOwnerRow>())
            .first(db),
        PhotoOwner::Name(name) => users::table
            .filter(users::username_lower.eq(name))
            .select(columns::<PhotoOwnerRow>())
            .first(db),
    }
    .optional()
}

/// Lists those of the accounts that exist, in no order.
pub(super) fn list_owners(
    db: &mut Db,
    ids: &[UserId],
    names: &[String],
) -> QueryResult<Vec<PhotoOwnerRow>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    users::table
        .filter(
            users::id
                .eq_any(ids)
                .or(users::username_lower.eq_any(names)),
        )
        .select(columns::<PhotoOwnerRow>())
        .load(db)
}

pub(crate) fn find_photo(db: &mut Db, id: UserId) -> QueryResult<Option<PhotoRow>> {
    profile_photos::table
        .inner_join(users::table)
        .filter(profile_photos::user_id.eq(id))
        .select(columns::<PhotoRow>())
        .first(db)
        .optional()
}

/// Replaces the photo of an active account. Returns `None` if it is deleted or deactivated. The first statement locks the
/// account, so that of two concurrent uploads the later one also stores its file later.
pub(crate) fn set(
    db: &mut Db,
    id: UserId,
    photo: &NewPhoto,
    now: NaiveDateTime,
) -> QueryResult<Option<PhotoOwnerRow>> {
    let active = users::table.find(id).filter(users::is_active.eq(true));
    let owner = diesel::update(active)
        .set((
            users::photo_version.eq(&photo.version),
            users::updated_at.eq(now),
        ))
        .returning(columns::<PhotoOwnerRow>())
        .get_result(db)
        .optional()?;
    if owner.is_some() {
        statement::<()>(
            "INSERT INTO profile_photos (user_id, content_type, bytes) VALUES ($1, $2, $3) \
             ON CONFLICT (user_id) DO UPDATE SET content_type = excluded.content_type, bytes = excluded.bytes",
        )
        .bind::<BigInt, _>(id)
        .bind::<Text, _>(photo.content_type)
        .bind::<Binary, _>(&photo.bytes)
        .execute(db)?;
    }
    Ok(owner)
}

/// Deletes an account's photo. Returns false if there was none.
pub(crate) fn clear(db: &mut Db, id: UserId, now: NaiveDateTime) -> QueryResult<bool> {
    let shown = users::table
        .find(id)
        .filter(users::photo_version.is_not_null());
    let cleared = diesel::update(shown)
        .set((
            users::photo_version.eq(None::<String>),
            users::updated_at.eq(now),
        ))
        .execute(db)?;
    diesel::delete(profile_photos::table.find(id)).execute(db)?;
    Ok(cleared == 1)
}
