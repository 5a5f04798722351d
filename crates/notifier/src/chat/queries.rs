use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::dsl::{min, sql};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Timestamp};
use diesel::upsert::excluded;

use super::model::{
    ACTIVE, DISABLED, DeliveryRow, DestinationRow, Ending, NewDelivery, PENDING, REMOVED, SENDING,
    UNKNOWN,
};
use crate::schema::{deliveries, destinations};

pub(super) fn insert_delivery(db: &mut Db, row: &NewDelivery) -> QueryResult<()> {
    diesel::insert_into(deliveries::table)
        .values(row)
        .execute(db)
        .map(drop)
}

/// Has a project's hook looked at now, and makes its row if nothing is known of it yet. While somebody
/// holds the hook, the holder looks again before letting go.
pub(super) fn expect(db: &mut Db, project_id: i64, now: NaiveDateTime) -> QueryResult<()> {
    let row = (
        destinations::project_id.eq(project_id),
        destinations::revision.eq(0),
        destinations::state.eq(UNKNOWN),
        destinations::failures.eq(0),
        destinations::free_at.eq(now),
        destinations::due_at.eq(Some(now)),
        destinations::updated_at.eq(now),
    );
    let sooner = sql::<Nullable<Timestamp>>(
        "CASE WHEN destinations.lease_owner IS NULL AND (destinations.due_at IS NULL OR destinations.due_at > excluded.due_at) \
         THEN CASE WHEN destinations.free_at > excluded.due_at THEN destinations.free_at ELSE excluded.due_at END \
         ELSE destinations.due_at END",
    );
    on_backend!(db, conn => diesel::insert_into(destinations::table)
        .values(row)
        .on_conflict(destinations::project_id)
        .do_update()
        .set(destinations::due_at.eq(sooner))
        .execute(conn))
    .map(drop)
}

/// Keeps a destination if it is newer than the one that is known; null takes it away.
pub(super) fn configure(
    db: &mut Db,
    project_id: i64,
    revision: i64,
    sealed: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let row = (
        destinations::project_id.eq(project_id),
        destinations::revision.eq(revision),
        destinations::state.eq(if sealed.is_some() { ACTIVE } else { REMOVED }),
        destinations::sealed.eq(sealed),
        destinations::failures.eq(0),
        destinations::free_at.eq(now),
        destinations::due_at.eq(Some(now)),
        destinations::updated_at.eq(now),
    );
    let soon = sql::<Nullable<Timestamp>>(
        "CASE WHEN destinations.lease_owner IS NULL THEN excluded.due_at ELSE destinations.due_at END",
    );
    let newer = destinations::revision.lt(excluded(destinations::revision));
    let upsert = diesel::insert_into(destinations::table)
        .values(row)
        .on_conflict(destinations::project_id)
        .do_update()
        .set((
            destinations::revision.eq(excluded(destinations::revision)),
            destinations::state.eq(excluded(destinations::state)),
            destinations::sealed.eq(excluded(destinations::sealed)),
            destinations::reason.eq(None::<String>),
            destinations::failures.eq(excluded(destinations::failures)),
            destinations::free_at.eq(excluded(destinations::free_at)),
            destinations::due_at.eq(soon),
            destinations::updated_at.eq(excluded(destinations::updated_at)),
        ));
    let changed = on_backend!(db, conn => diesel::query_dsl::methods::FilterDsl::filter(upsert, newer).execute(conn))?;
    Ok(changed == 1)
}

/// When the next hook is to be looked at.
pub(super) fn next_due(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    destinations::table
        .filter(destinations::due_at.is_not_null())
        .select(min(destinations::due_at))
        .first(db)
}

/// Hooks that are to be looked at and that nobody holds, or whose holder is gone. Locked until the
/// transaction ends; those that another process is taking now are left to it.
pub(super) fn due_destinations(
    db: &mut Db,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DestinationRow>> {
    let due = destinations::table
        .filter(
            destinations::due_at
                .is_not_null()
                .and(destinations::due_at.le(now)),
        )
        .order((destinations::due_at, destinations::project_id))
        .limit(limit);
    match db {
        Db::Pg(conn) => due
            .select(DestinationRow::as_select())
            .for_update()
            .skip_locked()
            .load(conn),
        Db::Sqlite(conn) => due.select(DestinationRow::as_select()).load(conn),
    }
}

/// A hook, locked until the transaction ends: whoever adds a delivery meanwhile waits, so that its row is
/// not overlooked when the next look is decided.
pub(super) fn lock_destination(
    db: &mut Db,
    project_id: i64,
) -> QueryResult<Option<DestinationRow>> {
    let one = destinations::table.find(project_id);
    match db {
        Db::Pg(conn) => one
            .select(DestinationRow::as_select())
            .for_update()
            .first(conn)
            .optional(),
        Db::Sqlite(conn) => one
            .select(DestinationRow::as_select())
            .first(conn)
            .optional(),
    }
}

/// Holds a hook until `until`.
pub(super) fn hold(
    db: &mut Db,
    destination: &DestinationRow,
    owner: &str,
    until: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(destinations::table.find(destination.project_id))
        .set((
            destinations::lease_owner.eq(Some(owner)),
            destinations::due_at.eq(Some(until)),
            destinations::failures.eq(destination.failures),
            destinations::free_at.eq(destination.free_at),
        ))
        .execute(db)
        .map(drop)
}

/// Lets a hook go, to be looked at again at `due_at`.
pub(super) fn let_go(
    db: &mut Db,
    destination: &DestinationRow,
    due_at: Option<NaiveDateTime>,
) -> QueryResult<()> {
    diesel::update(destinations::table.find(destination.project_id))
        .set((
            destinations::lease_owner.eq(None::<String>),
            destinations::due_at.eq(due_at),
            destinations::failures.eq(destination.failures),
            destinations::free_at.eq(destination.free_at),
        ))
        .execute(db)
        .map(drop)
}

/// Switches a hook off.
pub(super) fn disable(
    db: &mut Db,
    project_id: i64,
    reason: &str,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(destinations::table.find(project_id))
        .set((
            destinations::state.eq(DISABLED),
            destinations::sealed.eq(None::<String>),
            destinations::reason.eq(Some(reason)),
            destinations::updated_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

/// Puts back what a holder that is gone was sending, and says how many those were.
pub(super) fn reopen_abandoned(db: &mut Db, project_id: i64) -> QueryResult<usize> {
    diesel::update(open(project_id).filter(deliveries::state.eq(SENDING)))
        .set(deliveries::state.eq(PENDING))
        .execute(db)
}

/// Open deliveries whose time is over.
pub(super) fn list_expired(
    db: &mut Db,
    project_id: i64,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    open(project_id)
        .filter(deliveries::give_up_at.le(now))
        .order(deliveries::event_id)
        .limit(limit)
        .select(columns())
        .load(db)
}

/// Open deliveries that this revision of the hook, or an older one, was meant for.
pub(super) fn list_open(
    db: &mut Db,
    project_id: i64,
    revision: i64,
    limit: i64,
) -> QueryResult<Vec<DeliveryRow>> {
    open(project_id)
        .filter(deliveries::revision.le(revision))
        .order(deliveries::event_id)
        .limit(limit)
        .select(columns())
        .load(db)
}

/// The delivery whose turn it is.
pub(super) fn find_next(
    db: &mut Db,
    project_id: i64,
    revision: i64,
    now: NaiveDateTime,
) -> QueryResult<Option<DeliveryRow>> {
    open(project_id)
        .filter(deliveries::revision.le(revision))
        .filter(deliveries::next_attempt_at.le(now))
        .order((deliveries::next_attempt_at, deliveries::event_id))
        .select(columns())
        .first(db)
        .optional()
}

/// When a delivery for this revision is next to be tried, and when one for a later revision is given up.
pub(super) fn next_moments(
    db: &mut Db,
    project_id: i64,
    revision: i64,
) -> QueryResult<(Option<NaiveDateTime>, Option<NaiveDateTime>)> {
    let next_attempt = open(project_id)
        .filter(deliveries::revision.le(revision))
        .select(min(deliveries::next_attempt_at))
        .first(db)?;
    let first_given_up = open(project_id)
        .select(min(deliveries::give_up_at))
        .first(db)?;
    Ok((next_attempt, first_given_up))
}

/// Marks a delivery as being sent.
pub(super) fn start_sending(db: &mut Db, event_id: &str) -> QueryResult<()> {
    diesel::update(deliveries::table.find(event_id))
        .set((
            deliveries::state.eq(SENDING),
            deliveries::attempts.eq(deliveries::attempts + 1),
        ))
        .execute(db)
        .map(drop)
}

/// Puts a delivery back until `at`.
pub(super) fn postpone(
    db: &mut Db,
    event_id: &str,
    at: NaiveDateTime,
    reason: Option<&str>,
) -> QueryResult<()> {
    diesel::update(
        deliveries::table
            .find(event_id)
            .filter(deliveries::settled_at.is_null()),
    )
    .set((
        deliveries::state.eq(PENDING),
        deliveries::next_attempt_at.eq(at),
        deliveries::reason.eq(reason),
    ))
    .execute(db)
    .map(drop)
}

/// Ends a delivery; false when it had ended before. What people wrote is not kept longer than needed.
pub(super) fn settle(
    db: &mut Db,
    event_id: &str,
    ending: Ending,
    reason: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let settled = diesel::update(
        deliveries::table
            .find(event_id)
            .filter(deliveries::settled_at.is_null()),
    )
    .set((
        deliveries::state.eq(ending.name()),
        deliveries::payload.eq(None::<String>),
        deliveries::reason.eq(reason),
        deliveries::settled_at.eq(Some(now)),
    ))
    .execute(db)?;
    Ok(settled == 1)
}

/// How many deliveries are open.
pub(super) fn count_open(db: &mut Db) -> QueryResult<i64> {
    deliveries::table
        .filter(deliveries::settled_at.is_null())
        .count()
        .get_result(db)
}

/// Forgets deliveries that were settled before `until`.
pub(super) fn forget_settled_before(db: &mut Db, until: NaiveDateTime) -> QueryResult<usize> {
    let old = deliveries::settled_at
        .is_not_null()
        .and(deliveries::settled_at.lt(until));
    diesel::delete(deliveries::table.filter(old)).execute(db)
}

type Open = diesel::dsl::Filter<
    diesel::dsl::Filter<deliveries::table, diesel::dsl::Eq<deliveries::project_id, i64>>,
    diesel::dsl::IsNull<deliveries::settled_at>,
>;

fn open(project_id: i64) -> Open {
    deliveries::table
        .filter(deliveries::project_id.eq(project_id))
        .filter(deliveries::settled_at.is_null())
}

type Columns = (
    deliveries::event_id,
    deliveries::session_id,
    deliveries::project_id,
    deliveries::request_id,
    deliveries::payload,
    deliveries::attempts,
    deliveries::give_up_at,
    deliveries::reason,
);

fn columns() -> Columns {
    (
        deliveries::event_id,
        deliveries::session_id,
        deliveries::project_id,
        deliveries::request_id,
        deliveries::payload,
        deliveries::attempts,
        deliveries::give_up_at,
        deliveries::reason,
    )
}
