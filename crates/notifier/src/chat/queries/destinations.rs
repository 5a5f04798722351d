use std::collections::BTreeSet;

use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Db, on_backend, prepared};
use diesel::connection::SimpleConnection;
use diesel::dsl::{min, sql};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamp};
use diesel::upsert::excluded;
use event_types::IntegrationConfigured;

use super::ends::TELLABLE;
use crate::chat::model::{ACTIVE, DISABLED, DestinationRow, Placed, REMOVED, UNKNOWN};
use crate::schema::destinations;

/// Makes the rows of these projects' hooks if nothing is known of them yet, and has them looked at as soon as they
/// may be called, at `give_up_at` at the latest. Gives those for whom [`look`] is to be called, as often as it takes,
/// once the transaction is over.
///
/// On PostgreSQL that is all of them. Whoever holds a hook has its row locked while it is decided when to look
/// next, many times a second; an intake that waited for each in turn would go no faster than all of them together.
pub(in crate::chat) fn expect_all(
    db: &mut Db,
    projects: &BTreeSet<i64>,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<BTreeSet<i64>> {
    if projects.is_empty() {
        return Ok(BTreeSet::new());
    }
    let missing = match db {
        Db::Pg(conn) => {
            // Asked first: an insert that meets a row waits for whoever has it locked.
            let known = destinations::table.filter(destinations::project_id.eq_any(projects));
            let known: Vec<i64> = known.select(destinations::project_id).load(conn)?;
            projects - &known.into_iter().collect()
        }
        Db::Sqlite(_) => projects.clone(),
    };
    for project in missing {
        expect(db, project, now, give_up_at)?;
    }
    Ok(match db {
        Db::Pg(_) => projects.clone(),
        Db::Sqlite(_) => BTreeSet::new(),
    })
}

/// Clocks of replicas differ by less than this. With a wider gap what comes for a hook may wait for [`recover`].
const SKEW: TimeDelta = TimeDelta::milliseconds(250);

/// Has those of these hooks that nobody holds looked at as soon as they may be called, at `give_up_at` at the latest,
/// and gives those for whom nothing more is to be done. Whoever holds a hook, and had not locked its row by now to let
/// it go, sees all that was committed before this; a row that is locked now is to be tried again.
///
/// A hook that rests between two messages, and is looked at as soon as it may be called, is not touched: whoever takes it
/// then began after this, and sees what came. Under load that is most of them.
///
/// In a transaction of its own, on PostgreSQL. It is not waited for until it is on disk: a crash loses no more than
/// [`recover`] finds.
pub(in crate::chat) fn look(
    db: &mut Db,
    projects: &[i64],
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<BTreeSet<i64>> {
    let Db::Pg(conn) = db else {
        return Ok(projects.iter().copied().collect());
    };
    conn.batch_execute("SET LOCAL synchronous_commit TO OFF")?;
    let looked: Vec<i64> = prepared::<BigInt>(
        "WITH hooks AS (SELECT project_id, \
            coalesce(lease_owner IS NULL AND due_at > soon AND due_at <= least(greatest(free_at, at), last), false) AS rests \
          FROM destinations, (SELECT ",
    )
    .bind::<Timestamp, _>(now)
    .sql(" AS at, ")
    .bind::<Timestamp, _>(now + SKEW)
    .sql(" AS soon, ")
    .bind::<Timestamp, _>(give_up_at)
    .sql(" AS last) AS times WHERE project_id = ANY(")
    .bind::<Array<BigInt>, _>(projects)
    .sql(
        ")), \
          unlocked AS (SELECT project_id FROM destinations \
            WHERE project_id IN (SELECT project_id FROM hooks WHERE NOT rests) ORDER BY project_id FOR UPDATE SKIP LOCKED), \
          free AS (UPDATE destinations AS d SET due_at = least(d.due_at, greatest(d.free_at, ",
    )
    .bind::<Timestamp, _>(now)
    .sql("), ")
    .bind::<Timestamp, _>(give_up_at)
    .sql(
        ") FROM unlocked WHERE d.project_id = unlocked.project_id AND d.lease_owner IS NULL \
           AND (d.due_at IS NULL OR d.due_at > ",
    )
    .bind::<Timestamp, _>(now)
    .sql(")) SELECT project_id FROM unlocked UNION ALL SELECT project_id FROM hooks WHERE rests")
    .load(conn)?;
    Ok(looked.into_iter().collect())
}

/// Has hooks looked at that nobody holds and that are to be looked at too late, or never, for what waits for them or is
/// given up before, as after a crash between a commit and [`look`].
pub(in crate::chat) fn recover(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    // A hook that is locked is being looked at.
    let unlocked = match db {
        Db::Pg(_) => "FOR UPDATE OF destinations SKIP LOCKED",
        Db::Sqlite(_) => "",
    };
    let forgotten = diesel::sql_query(format!(
        "UPDATE destinations SET due_at = $1 WHERE project_id IN (SELECT project_id FROM destinations \
         WHERE lease_owner IS NULL AND ((due_at IS NULL OR due_at > $2 AND free_at <= $3) \
         AND EXISTS (SELECT 1 FROM deliveries WHERE deliveries.project_id = destinations.project_id \
         AND deliveries.settled_at IS NULL AND (destinations.due_at IS NULL OR deliveries.next_attempt_at <= $4 \
         AND deliveries.revision <= destinations.revision AND {TELLABLE})) \
         OR EXISTS (SELECT 1 FROM deliveries WHERE deliveries.project_id = destinations.project_id \
         AND deliveries.settled_at IS NULL AND deliveries.give_up_at < destinations.due_at)) {unlocked})"
    ))
    .bind::<Timestamp, _>(now)
    .bind::<Timestamp, _>(now)
    .bind::<Timestamp, _>(now)
    .bind::<Timestamp, _>(now);
    forgotten.execute(db)
}

/// Frees PostgreSQL from what hooks' rows were before: it does so by itself once a minute at most, and until then whoever
/// looks for a hook walks through hundreds of its earlier versions. Not in a transaction.
pub(in crate::chat) fn sweep(db: &mut Db) -> QueryResult<()> {
    match db {
        // Another process may be at it.
        Db::Pg(conn) => conn.batch_execute("VACUUM (SKIP_LOCKED) destinations"),
        Db::Sqlite(_) => Ok(()),
    }
}

fn expect(
    db: &mut Db,
    project_id: i64,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<()> {
    let row = (
        destinations::project_id.eq(project_id),
        destinations::revision.eq(0),
        destinations::state.eq(UNKNOWN),
        destinations::failures.eq(0),
        destinations::free_at.eq(now),
        destinations::due_at.eq(Some(now)),
        destinations::updated_at.eq(now),
    );
    // The earliest of when it was to be looked at, when it may be called, and when somebody gives up.
    let sooner = sql::<Nullable<Timestamp>>(
        "CASE WHEN destinations.lease_owner IS NOT NULL OR destinations.due_at <= excluded.due_at THEN destinations.due_at \
         WHEN destinations.free_at <= excluded.due_at THEN excluded.due_at \
         WHEN destinations.free_at <= coalesce(destinations.due_at, destinations.free_at) AND destinations.free_at <= ",
    )
    .bind::<Timestamp, _>(give_up_at)
    .sql(" THEN destinations.free_at WHEN destinations.due_at <= ")
    .bind::<Timestamp, _>(give_up_at)
    .sql(" THEN destinations.due_at ELSE ")
    .bind::<Timestamp, _>(give_up_at)
    .sql(" END");
    on_backend!(db, conn => diesel::insert_into(destinations::table)
        .values(row)
        .on_conflict(destinations::project_id)
        .do_update()
        .set(destinations::due_at.eq(sooner))
        .execute(conn))
    .map(drop)
}

/// Keeps what is told of a destination if its revision is higher than the known one, or pauses the known one.
pub(in crate::chat) fn configure(
    db: &mut Db,
    configured: &IntegrationConfigured,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let state = match &configured.sealed {
        Some(_) => ACTIVE,
        None if configured.paused => DISABLED,
        None => REMOVED,
    };
    let row = (
        destinations::project_id.eq(configured.project_id),
        destinations::revision.eq(configured.revision),
        destinations::state.eq(state),
        destinations::sealed.eq(configured.sealed.as_deref()),
        destinations::failures.eq(0),
        destinations::free_at.eq(now),
        destinations::due_at.eq(Some(now)),
        destinations::updated_at.eq(now),
    );
    let soon = sql::<Nullable<Timestamp>>(
        "CASE WHEN destinations.lease_owner IS NULL THEN excluded.due_at ELSE destinations.due_at END",
    );
    let newer = destinations::revision
        .lt(excluded(destinations::revision))
        .or(destinations::revision
            .eq(excluded(destinations::revision))
            .and(excluded(destinations::state).eq(DISABLED)));
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
pub(in crate::chat) fn next_due(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    destinations::table
        .filter(destinations::due_at.is_not_null())
        .select(min(destinations::due_at))
        .first(db)
}

/// Hooks that are to be looked at and that nobody holds, or whose holder is gone. Locked until the
/// transaction ends; those that another process is taking now are left to it.
pub(in crate::chat) fn due_destinations(
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

/// These hooks, locked until the transaction ends: whoever changes one meanwhile waits.
pub(in crate::chat) fn lock_destinations(
    db: &mut Db,
    projects: &BTreeSet<i64>,
) -> QueryResult<Vec<DestinationRow>> {
    // In the same order by all who wait for several.
    match db {
        Db::Pg(conn) => destinations::table
            .filter(destinations::project_id.eq_any(projects))
            .order(destinations::project_id)
            .select(DestinationRow::as_select())
            .for_update()
            .load(conn),
        Db::Sqlite(conn) => destinations::table
            .filter(destinations::project_id.eq_any(projects))
            .select(DestinationRow::as_select())
            .load(conn),
    }
}

/// Holds hooks or lets them go, as is said of each.
pub(in crate::chat) fn place(db: &mut Db, placed: &[Placed]) -> QueryResult<()> {
    let conn = match db {
        _ if placed.is_empty() => return Ok(()),
        Db::Pg(conn) => conn,
        Db::Sqlite(_) => return placed.iter().try_for_each(|placed| place_one(db, placed)),
    };
    fn column<'a, T>(placed: &'a [Placed], of: impl Fn(&'a Placed) -> T) -> Vec<T> {
        placed.iter().map(of).collect()
    }
    prepared::<Bool>(
        "UPDATE destinations AS hook SET lease_owner = new.lease_owner, due_at = new.due_at, failures = new.failures, \
             free_at = new.free_at, sending = new.sending FROM unnest(",
    )
    .bind::<Array<BigInt>, _>(column(placed, |one| one.destination.project_id))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(placed, |one| one.lease_owner.as_deref()))
    .sql(", ")
    .bind::<Array<Nullable<Timestamp>>, _>(column(placed, |one| one.due_at))
    .sql(", ")
    .bind::<Array<BigInt>, _>(column(placed, |one| one.destination.failures))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(placed, |one| one.destination.free_at))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(placed, |one| one.sending.as_deref()))
    .sql(
        ") AS new (project_id, lease_owner, due_at, failures, free_at, sending) \
         WHERE hook.project_id = new.project_id",
    )
    .execute(conn)
    .map(drop)
}

fn place_one(db: &mut Db, placed: &Placed) -> QueryResult<()> {
    diesel::update(destinations::table.find(placed.destination.project_id))
        .set((
            destinations::lease_owner.eq(&placed.lease_owner),
            destinations::due_at.eq(placed.due_at),
            destinations::failures.eq(placed.destination.failures),
            destinations::free_at.eq(placed.destination.free_at),
            destinations::sending.eq(&placed.sending),
        ))
        .execute(db)
        .map(drop)
}

/// Switches a hook off.
pub(in crate::chat) fn disable(
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

#[cfg(test)]
#[path = "destinations_tests.rs"]
mod tests;
