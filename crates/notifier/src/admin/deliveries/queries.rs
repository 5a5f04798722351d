use std::collections::BTreeSet;

use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::{DeliveryStateFilter, ListArgs, MediumArg};
use crate::delivery::{LOCKED, PENDING, UNKNOWN, mark_due};
use crate::schema::deliveries;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(super) struct Delivery {
    pub(super) id: String,
    pub(super) medium: String,
    pub(super) kind: String,
    pub(super) destination_id: String,
    pub(super) request_id: Option<String>,
    pub(super) state: String,
    pub(super) attempts: i64,
    pub(super) next_attempt_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
    pub(super) settled_at: Option<NaiveDateTime>,
}

/// Lists the selected deliveries, newest first, and one more if there is a next page. Ids are in the order of time, so
/// their index serves.
pub(super) fn list(db: &mut Db, args: &ListArgs) -> QueryResult<Vec<Delivery>> {
    let mut query = deliveries::table
        .order(deliveries::id.desc())
        .limit(args.limit + 1)
        .select(Delivery::as_select())
        .into_boxed();
    query = match args.state {
        DeliveryStateFilter::Waiting => query.filter(deliveries::settled_at.is_null()),
        DeliveryStateFilter::Delivered => query.filter(deliveries::state.eq("delivered")),
        DeliveryStateFilter::Failed => query.filter(deliveries::state.eq("failed")),
        DeliveryStateFilter::Skipped => query.filter(deliveries::state.eq("skipped")),
        DeliveryStateFilter::All => query,
    };
    if let Some(medium) = args.only {
        query = query.filter(deliveries::medium.eq(medium.name()));
    }
    if let Some(project) = args.project {
        query = query
            .filter(deliveries::medium.eq(MediumArg::Chat.name()))
            .filter(deliveries::destination_id.eq(project.to_string()));
    }
    if let Some(before) = args.before {
        query = query.filter(deliveries::id.lt(before.to_string()));
    }
    query.load(db)
}

/// Finds the newest delivery whose id ends with `end`.
pub(super) fn find(db: &mut Db, end: &str) -> QueryResult<Option<Delivery>> {
    deliveries::table
        .filter(deliveries::id.like(format!("%{end}")))
        .order(deliveries::id.desc())
        .select(Delivery::as_select())
        .first(db)
        .optional()
}

/// Makes a delivery due now and its destination as soon as that is free. Returns false when it is being sent or is settled.
pub(super) fn make_due(
    db: &mut Db,
    delivery: &Delivery,
    medium: MediumArg,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let destination = BTreeSet::from([delivery.destination_id.clone()]);
    // The destination first: all code locks in this order.
    mark_due(
        db,
        medium.name(),
        &destination,
        UNKNOWN,
        now,
        delivery.give_up_at,
    )?;
    let waits = deliveries::state
        .eq(PENDING)
        .or(deliveries::state.eq(LOCKED));
    let one = deliveries::table.find(&delivery.id).filter(waits);
    let moved = diesel::update(one)
        .set(deliveries::next_attempt_at.eq(now))
        .execute(db)?;
    Ok(moved == 1)
}
