use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::MailMedium;
use crate::delivery::{LOCKED, Medium, PENDING};
use crate::schema::{deliveries, destinations};

/// Makes mails due that wait for a key, and returns their number.
pub(super) fn try_locked(
    db: &mut Db,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<usize> {
    let locked = deliveries::table
        .filter(deliveries::state.eq(LOCKED))
        .filter(deliveries::settled_at.is_null());
    let idle = destinations::table
        .filter(destinations::medium.eq(MailMedium::NAME))
        .filter(destinations::id.eq_any(locked.select(deliveries::destination_id)))
        .filter(destinations::lease_owner.is_null());
    diesel::update(idle)
        .set((
            destinations::due_at.eq(Some(now)),
            destinations::free_at.eq(now),
        ))
        .execute(db)?;
    diesel::update(locked)
        .set((
            deliveries::state.eq(PENDING),
            deliveries::next_attempt_at.eq(now),
            deliveries::give_up_at.eq(give_up_at),
        ))
        .execute(db)
}
