use std::collections::BTreeSet;

use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::connection::SimpleConnection;
use diesel::dsl::{min, sql};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Timestamp};
use diesel::upsert::excluded;

use crate::chat::model::{ACTIVE, DISABLED, DestinationRow, REMOVED, UNKNOWN};
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

/// Has those of these hooks that nobody holds looked at as soon as they may be called, at `give_up_at` at the latest,
/// and gives those for whom nothing more is to be done. Whoever holds a hook, and had not locked its row by now to let
/// it go, sees all that was committed before this; a row that is locked now is to be tried again.
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
    let looked: Vec<Looked> = diesel::sql_query(
        "WITH unlocked AS (SELECT project_id FROM destinations WHERE project_id = ANY($1) \
           ORDER BY project_id FOR UPDATE SKIP LOCKED), \
          free AS (UPDATE destinations AS d SET due_at = least(d.due_at, greatest(d.free_at, $2), $3) FROM unlocked \
           WHERE d.project_id = unlocked.project_id AND d.lease_owner IS NULL AND (d.due_at IS NULL OR d.due_at > $2)) \
         SELECT project_id FROM unlocked",
    )
    .bind::<Array<BigInt>, _>(projects)
    .bind::<Timestamp, _>(now)
    .bind::<Timestamp, _>(give_up_at)
    .load(conn)?;
    Ok(looked.into_iter().map(|row| row.project_id).collect())
}

#[derive(QueryableByName)]
struct Looked {
    #[diesel(sql_type = BigInt)]
    project_id: i64,
}

/// Has hooks looked at that nobody is to look at although something waits for them, as after a crash between a commit
/// and [`look`].
pub(in crate::chat) fn recover(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let forgotten = diesel::sql_query(
        "UPDATE destinations SET due_at = $1 WHERE due_at IS NULL AND EXISTS (SELECT 1 FROM deliveries \
         WHERE deliveries.project_id = destinations.project_id AND deliveries.settled_at IS NULL)",
    )
    .bind::<Timestamp, _>(now);
    on_backend!(db, conn => forgotten.execute(conn))
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

/// Keeps a destination if it is newer than the one that is known; null takes it away.
pub(in crate::chat) fn configure(
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

/// A hook, locked until the transaction ends: whoever adds a delivery meanwhile waits, so that its row is
/// not overlooked when the next look is decided.
pub(in crate::chat) fn lock_destination(
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
pub(in crate::chat) fn hold(
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
pub(in crate::chat) fn let_go(
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
