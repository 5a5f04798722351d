use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDateTime;
use db_kit::{Db, on_backend, prepared};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamp};
use diesel::upsert::excluded;

use crate::schema::notifications;
use crate::sessions;

/// What became of a notification.
#[derive(Debug, Clone, Insertable)]
pub(super) struct Notification {
    /// The session event that was to be told.
    pub(super) event_id: String,
    pub(super) session_id: String,
    pub(super) team_project_id: Option<i64>,
    /// `delivered`, `failed` or `skipped`.
    pub(super) outcome: &'static str,
    pub(super) reason: Option<String>,
    pub(super) settled_at: NaiveDateTime,
}

/// Records what became of notifications, in the order of their events; the latest word holds. Not those about
/// sessions that are gone.
pub(super) fn record_all(
    db: &mut Db,
    notifications: BTreeMap<String, Notification>,
) -> QueryResult<()> {
    let sessions: BTreeSet<&str> = notifications
        .values()
        .map(|notification| notification.session_id.as_str())
        .collect();
    let held = sessions::queries::hold(db, &sessions)?;
    let mut rows: Vec<Notification> = notifications.into_values().collect();
    rows.retain(|row| held.contains(&row.session_id));
    match db {
        Db::Pg(conn) if rows.len() > 1 => record_many(conn, &rows),
        _ => rows.iter().try_for_each(|row| record(db, row)),
    }
}

fn record(db: &mut Db, notification: &Notification) -> QueryResult<()> {
    on_backend!(db, conn => diesel::insert_into(notifications::table)
        .values(notification)
        .on_conflict(notifications::event_id)
        .do_update()
        .set((
            notifications::outcome.eq(excluded(notifications::outcome)),
            notifications::reason.eq(excluded(notifications::reason)),
            notifications::settled_at.eq(excluded(notifications::settled_at)),
        ))
        .execute(conn))
    .map(drop)
}

/// As [`record`], in one statement: as arrays, one value a column, however many rows there are.
fn record_many(conn: &mut PgConnection, rows: &[Notification]) -> QueryResult<()> {
    fn column<'a, T>(rows: &'a [Notification], of: impl Fn(&'a Notification) -> T) -> Vec<T> {
        rows.iter().map(of).collect()
    }
    prepared::<Bool>(
        "INSERT INTO notifications (event_id, session_id, team_project_id, outcome, reason, settled_at) \
         SELECT event_id, session_id, team_project_id, outcome, reason, settled_at FROM unnest(",
    )
    .bind::<Array<Text>, _>(column(rows, |row| row.event_id.as_str()))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.session_id.as_str()))
    .sql(", ")
    .bind::<Array<Nullable<BigInt>>, _>(column(rows, |row| row.team_project_id))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.outcome))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.reason.as_deref()))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.settled_at))
    .sql(
        ") AS new (event_id, session_id, team_project_id, outcome, reason, settled_at) \
         ON CONFLICT (event_id) DO UPDATE \
         SET outcome = excluded.outcome, reason = excluded.reason, settled_at = excluded.settled_at",
    )
    .execute(conn)
    .map(drop)
}
