use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use crate::delivery::PENDING;
use crate::schema::deliveries;

/// Makes a settled call of a webhook pending again, with all its attempts ahead. Returns false if there is none.
pub(super) fn reopen(
    db: &mut Db,
    webhook: &str,
    id: &str,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<bool> {
    let settled = deliveries::table
        .find(id)
        .filter(deliveries::destination_id.eq(webhook))
        .filter(deliveries::settled_at.is_not_null());
    let reopened = diesel::update(settled)
        .set((
            deliveries::state.eq(PENDING),
            deliveries::tries.eq(0),
            deliveries::next_attempt_at.eq(now),
            deliveries::give_up_at.eq(give_up_at),
            deliveries::reason.eq(None::<String>),
            deliveries::settled_at.eq(None::<NaiveDateTime>),
        ))
        .execute(db)?;
    Ok(reopened == 1)
}

/// Whether the call exists.
pub(super) fn exists(db: &mut Db, id: &str) -> QueryResult<bool> {
    let found = deliveries::table.find(id).select(deliveries::id);
    Ok(found.first::<String>(db).optional()?.is_some())
}

/// Deletes up to `limit` calls about a user and returns their number.
pub(super) fn delete_calls_about(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    let some = deliveries::table
        .filter(deliveries::user_id.eq(user.get()))
        .limit(limit)
        .select(deliveries::id);
    let ids: Vec<String> = some.load(db)?;
    diesel::delete(deliveries::table.filter(deliveries::id.eq_any(&ids))).execute(db)
}
