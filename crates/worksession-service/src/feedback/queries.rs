use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use db_kit::{Db, on_backend, statement};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamp};
use diesel::upsert::excluded;

use crate::schema::notifications;
use crate::sessions;

#[derive(Debug, Clone, Insertable)]
pub(super) struct Notification {
    /// The session event that the notification reports.
    pub(super) event_id: String,
    pub(super) session_id: String,
    pub(super) team_project_id: Option<i64>,
    /// `delivered`, `failed` or `skipped`.
    pub(super) outcome: &'static str,
    pub(super) reason: Option<String>,
    pub(super) settled_at: NaiveDateTime,
}

/// Records the outcomes of notifications in the order of their events; the latest one wins. Sessions that no longer exist
/// are skipped. The caller has locked the deletion of sessions.
pub(super) fn record_all(
    db: &mut Db,
    notifications: BTreeMap<String, Notification>,
) -> QueryResult<()> {
    let rows: Vec<Notification> = notifications.into_values().collect();
    match db {
        _ if rows.is_empty() => Ok(()),
        Db::Pg(conn) => record_many(conn, &rows),
        Db::Sqlite(_) => {
            let sessions = rows.iter().map(|row| row.session_id.as_str()).collect();
            let locked = sessions::queries::lock_existing(db, &sessions)?;
            let mut rows = rows.iter().filter(|row| locked.contains(&row.session_id));
            rows.try_for_each(|row| record(db, row))
        }
    }
}

fn record(db: &mut Db, notification: &Notification) -> QueryResult<()> {
    on_backend!(db, conn => diesel::insert_into(notifications::table)
        .values(notification)
        .on_conflict((notifications::session_id, notifications::event_id))
        .do_update()
        .set((
            notifications::outcome.eq(excluded(notifications::outcome)),
            notifications::reason.eq(excluded(notifications::reason)),
            notifications::settled_at.eq(excluded(notifications::settled_at)),
        ))
        .execute(conn))
    .map(drop)
}

/// Like [`record`], as one statement with one array per column, however many rows there are. The lateral join looks up each
/// session in the index, because PostgreSQL keeps a plan that it made while the table was small.
fn record_many(conn: &mut PgConnection, rows: &[Notification]) -> QueryResult<()> {
    fn column<'a, T>(rows: &'a [Notification], of: impl Fn(&'a Notification) -> T) -> Vec<T> {
        rows.iter().map(of).collect()
    }
    statement::<()>(
        "INSERT INTO notifications (event_id, session_id, team_project_id, outcome, reason, settled_at) \
         SELECT new.* FROM unnest($1, $2, $3, $4, $5, $6) \
          AS new (event_id, session_id, team_project_id, outcome, reason, settled_at) \
         CROSS JOIN LATERAL (SELECT session_id FROM sessions WHERE sessions.session_id >= new.session_id \
         ORDER BY sessions.session_id LIMIT 1) AS next WHERE next.session_id = new.session_id \
         ON CONFLICT (session_id, event_id) DO UPDATE \
         SET outcome = excluded.outcome, reason = excluded.reason, settled_at = excluded.settled_at",
    )
    .bind::<Array<Text>, _>(column(rows, |row| row.event_id.as_str()))
    .bind::<Array<Text>, _>(column(rows, |row| row.session_id.as_str()))
    .bind::<Array<Nullable<BigInt>>, _>(column(rows, |row| row.team_project_id))
    .bind::<Array<Text>, _>(column(rows, |row| row.outcome))
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.reason.as_deref()))
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.settled_at))
    .execute(conn)
    .map(drop)
}
