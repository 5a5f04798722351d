use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::upsert::excluded;

use crate::schema::{notifications, sessions};

/// What became of a notification.
#[derive(Debug, Insertable)]
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

/// Holds the session that a notification is about until the transaction ends; false when it is gone. One
/// that is being deleted thus either takes the notification along, or it is not recorded.
pub(super) fn hold_session(db: &mut Db, session_id: &str) -> QueryResult<bool> {
    let session = sessions::table
        .filter(sessions::session_id.eq(session_id))
        .select(sessions::session_id);
    let held: Option<String> = match db {
        Db::Pg(conn) => session.for_key_share().first(conn).optional()?,
        Db::Sqlite(conn) => session.first(conn).optional()?,
    };
    Ok(held.is_some())
}

/// Records what became of a notification; the latest word holds.
pub(super) fn record(db: &mut Db, notification: &Notification) -> QueryResult<usize> {
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
}
