//! Which events a consumer has taken in; the row is written in the transaction of what the event changes.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use uuid::Uuid;

use crate::schema::inbox;
use crate::{Db, on_backend};

/// Records an event for a consumer; false when it was there before and must change nothing again.
///
/// # Errors
/// Any database error; the caller's transaction is lost.
pub fn record(
    db: &mut Db,
    consumer: &str,
    event_id: Uuid,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let row = (
        inbox::consumer.eq(consumer),
        inbox::event_id.eq(event_id.to_string()),
        inbox::received_at.eq(now),
    );
    let inserted = on_backend!(db, conn => diesel::insert_into(inbox::table).values(row).on_conflict_do_nothing().execute(conn))?;
    Ok(inserted == 1)
}

/// Forgets what was taken in before `until`; the broker does not deliver again after so long.
///
/// # Errors
/// Any database error.
pub fn forget_before(db: &mut Db, until: NaiveDateTime) -> QueryResult<usize> {
    diesel::delete(inbox::table.filter(inbox::received_at.lt(until))).execute(db)
}
