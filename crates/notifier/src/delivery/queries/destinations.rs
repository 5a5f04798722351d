use std::collections::BTreeSet;

use chrono::NaiveDateTime;
use db_kit::{Db, json, on_backend, statement};
use diesel::dsl::min;
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamp};
use diesel::upsert::excluded;
use serde::Serialize;

use crate::delivery::model::{ACTIVE, DISABLED, DestinationRow, REMOVED, Settings};
use crate::schema::destinations;

/// Returns when the next destination is due.
pub(crate) fn next_due(db: &mut Db, medium: &str) -> QueryResult<Option<NaiveDateTime>> {
    destinations::table
        .filter(destinations::medium.eq(medium))
        .filter(destinations::due_at.is_not_null())
        .select(min(destinations::due_at))
        .first(db)
}

/// Lists due destinations that are not leased, or whose lease has expired, and locks them until the transaction ends.
/// Those that another process has locked are skipped.
pub(crate) fn list_due(
    db: &mut Db,
    medium: &str,
    now: NaiveDateTime,
    limit: i64,
) -> QueryResult<Vec<DestinationRow>> {
    let due = destinations::table
        .filter(destinations::medium.eq(medium))
        .filter(destinations::due_at.is_not_null())
        .filter(destinations::due_at.le(now))
        .order((destinations::due_at, destinations::id))
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

/// Locks destinations until the transaction ends, in the order of their ids, so that transactions cannot deadlock. A
/// transaction that adds a delivery meanwhile waits, so that the next look sees it.
pub(crate) fn lock(
    db: &mut Db,
    medium: &str,
    ids: &BTreeSet<String>,
) -> QueryResult<Vec<DestinationRow>> {
    let some = destinations::table
        .filter(destinations::medium.eq(medium))
        .filter(destinations::id.eq_any(ids))
        .order(destinations::id);
    match db {
        Db::Pg(conn) => some
            .select(DestinationRow::as_select())
            .for_update()
            .load(conn),
        Db::Sqlite(conn) => some.select(DestinationRow::as_select()).load(conn),
    }
}

/// A destination that has a new delivery, for `mark_due.*.sql`.
#[derive(Serialize)]
struct Expected<'a> {
    medium: &'a str,
    id: &'a str,
    state: &'a str,
    #[serde(serialize_with = "json::timestamp")]
    now: NaiveDateTime,
}

/// Locks destinations and makes them due as soon as they are free, at `give_up_at` at the latest. A leased one is
/// checked at the end of the lease. Missing ones are inserted in `state`.
pub(crate) fn mark_due(
    db: &mut Db,
    medium: &str,
    ids: &BTreeSet<String>,
    state: &str,
    now: NaiveDateTime,
    give_up_at: NaiveDateTime,
) -> QueryResult<()> {
    let text = match db {
        Db::Pg(_) => include_str!("mark_due.postgres.sql"),
        Db::Sqlite(_) => include_str!("mark_due.sqlite.sql"),
    };
    let expected = ids.iter().map(|id| Expected {
        medium,
        id,
        state,
        now,
    });
    for rows in json::arguments(db, &expected.collect::<Vec<_>>())? {
        statement::<()>(text)
            .bind::<Text, _>(rows)
            .bind::<Timestamp, _>(give_up_at)
            .execute(db)?;
    }
    Ok(())
}

/// Stores the settings of a destination if their revision is higher than the stored one, or pauses the stored one. Returns
/// whether it did.
pub(crate) fn configure(
    db: &mut Db,
    medium: &str,
    settings: &Settings,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let state = match &settings.sealed {
        Some(_) => ACTIVE,
        None if settings.paused => DISABLED,
        None => REMOVED,
    };
    let row = (
        destinations::medium.eq(medium),
        destinations::id.eq(&settings.id),
        destinations::revision.eq(settings.revision),
        destinations::state.eq(state),
        destinations::sealed.eq(settings.sealed.as_deref()),
        destinations::failures.eq(0),
        destinations::free_at.eq(now),
        destinations::due_at.eq(Some(now)),
        destinations::updated_at.eq(now),
    );
    let due_at = diesel::dsl::case_when(
        destinations::lease_owner.is_null(),
        excluded(destinations::due_at),
    )
    .otherwise(destinations::due_at);
    let newer = destinations::revision
        .lt(excluded(destinations::revision))
        .or(destinations::revision
            .eq(excluded(destinations::revision))
            .and(excluded(destinations::state).eq(DISABLED)));
    let upsert = diesel::insert_into(destinations::table)
        .values(row)
        .on_conflict((destinations::medium, destinations::id))
        .do_update()
        .set((
            destinations::revision.eq(excluded(destinations::revision)),
            destinations::state.eq(excluded(destinations::state)),
            destinations::sealed.eq(excluded(destinations::sealed)),
            destinations::failures.eq(excluded(destinations::failures)),
            destinations::failing_since.eq(None::<NaiveDateTime>),
            destinations::free_at.eq(excluded(destinations::free_at)),
            destinations::due_at.eq(due_at),
            destinations::updated_at.eq(excluded(destinations::updated_at)),
        ));
    on_backend!(db, conn => diesel::query_dsl::methods::FilterDsl::filter(upsert, newer).execute(conn)).map(|rows| rows > 0)
}

/// Leases destinations, which the transaction has locked, to `owner`.
pub(crate) fn lease(
    db: &mut Db,
    medium: &str,
    ids: &[&str],
    owner: &str,
    ends: NaiveDateTime,
) -> QueryResult<()> {
    let some = destinations::table
        .filter(destinations::medium.eq(medium))
        .filter(destinations::id.eq_any(ids));
    diesel::update(some)
        .set((
            destinations::lease_owner.eq(owner),
            destinations::due_at.eq(Some(ends)),
        ))
        .execute(db)
        .map(drop)
}

/// Releases a destination, which is due again at `due_at`.
pub(crate) fn release_until(
    db: &mut Db,
    medium: &str,
    id: &str,
    due_at: Option<NaiveDateTime>,
) -> QueryResult<()> {
    diesel::update(destinations::table.find((medium, id)))
        .set((
            destinations::lease_owner.eq(None::<String>),
            destinations::due_at.eq(due_at),
        ))
        .execute(db)
        .map(drop)
}

/// A destination to release, for `release_destinations.*.sql`.
#[derive(Serialize)]
struct Released<'a> {
    medium: &'a str,
    id: &'a str,
    failures: i64,
    #[serde(serialize_with = "json::timestamp")]
    failing_since: Option<NaiveDateTime>,
    #[serde(serialize_with = "json::timestamp")]
    free_at: NaiveDateTime,
    /// Set for an inactive destination: it is due at once while deliveries wait, because one transaction skips only a slice
    /// of them. An unknown one has revision 0, for which nothing waits.
    #[serde(serialize_with = "json::timestamp")]
    look_at: Option<NaiveDateTime>,
}

/// Releases destinations. Each is due again at the next attempt for its revision, or when a delivery expires.
pub(crate) fn release_all(
    db: &mut Db,
    medium: &str,
    rows: &[&DestinationRow],
    now: NaiveDateTime,
) -> QueryResult<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let text = match db {
        Db::Pg(_) => include_str!("release_destinations.postgres.sql"),
        Db::Sqlite(_) => include_str!("release_destinations.sqlite.sql"),
    };
    let released = rows.iter().map(|row| Released {
        medium,
        id: &row.id,
        failures: row.failures,
        failing_since: row.failing_since,
        free_at: row.free_at,
        look_at: (!row.is_active()).then_some(now),
    });
    for rows in json::arguments(db, &released.collect::<Vec<_>>())? {
        // Not a `statement`: a plan that PostgreSQL keeps may look for plans among all waiting deliveries.
        diesel::sql_query(text).bind::<Text, _>(rows).execute(db)?;
    }
    Ok(())
}

/// Deletes those of these destinations that have no waiting deliveries.
pub(crate) fn delete_idle(db: &mut Db, medium: &str, rows: &[&DestinationRow]) -> QueryResult<()> {
    let ids: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    let idle = destinations::table
        .filter(destinations::medium.eq(medium))
        .filter(destinations::id.eq_any(ids))
        .filter(destinations::due_at.is_null());
    diesel::delete(idle).execute(db).map(drop)
}

/// Disables a destination.
pub(crate) fn disable(db: &mut Db, medium: &str, id: &str, now: NaiveDateTime) -> QueryResult<()> {
    diesel::update(destinations::table.find((medium, id)))
        .set((
            destinations::state.eq(DISABLED),
            destinations::sealed.eq(None::<String>),
            destinations::updated_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

/// Deletes destinations that were removed before `until` and have no waiting deliveries.
pub(crate) fn delete_removed_before(
    db: &mut Db,
    medium: &str,
    until: NaiveDateTime,
) -> QueryResult<()> {
    let old = destinations::table
        .filter(destinations::medium.eq(medium))
        .filter(destinations::state.eq(REMOVED))
        .filter(destinations::updated_at.lt(until))
        .filter(destinations::due_at.is_null());
    diesel::delete(old).execute(db).map(drop)
}
