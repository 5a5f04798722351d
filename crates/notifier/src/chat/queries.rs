//! Ends of sessions, which are sent after their plans. The caller has locked the destinations, so that a plan and an
//! end that arrive at the same time see each other.

use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::dsl::{exists, not};
use diesel::prelude::*;

use super::model::Kind;
use crate::schema::deliveries;

/// Delays ends until `at` if their plan has not arrived.
pub(super) fn delay_ends(db: &mut Db, ids: &[String], at: NaiveDateTime) -> QueryResult<()> {
    let plans = diesel::alias!(deliveries as plans);
    let plan = plans
        .filter(
            plans
                .field(deliveries::session_id)
                .eq(deliveries::session_id),
        )
        .filter(plans.field(deliveries::kind).eq(Kind::Plan.name()));
    let early = deliveries::table
        .filter(deliveries::id.eq_any(ids))
        .filter(not(exists(plan)));
    diesel::update(early)
        .set(deliveries::next_attempt_at.eq(at))
        .execute(db)
        .map(drop)
}

/// Makes unsent ends of these sessions due, because their plans have arrived.
pub(super) fn release_ends(
    db: &mut Db,
    sessions: &[String],
    now: NaiveDateTime,
) -> QueryResult<()> {
    let is_end = deliveries::kind
        .eq(Kind::Finished.name())
        .or(deliveries::kind.eq(Kind::Abandoned.name()));
    let delayed = deliveries::table
        .filter(deliveries::session_id.eq_any(sessions))
        .filter(is_end)
        .filter(deliveries::settled_at.is_null())
        .filter(deliveries::attempts.eq(0));
    diesel::update(delayed)
        .set(deliveries::next_attempt_at.eq(now))
        .execute(db)
        .map(drop)
}
