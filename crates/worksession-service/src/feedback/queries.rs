use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::upsert::excluded;

use crate::schema::notifications;

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
