use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use super::cursor::Cursor;
use crate::preferences::{SettingsRow, SettingsSql};
use crate::projects::{ProjectRow, ProjectSql};
use crate::sessions::record::{RecordRow, RecordSql};

/// The number of the change that this transaction makes; nobody else changes what is the user's until it ends. Call
/// it before anything else is locked.
pub(crate) fn bump(db: &mut Db, user: UserId) -> QueryResult<i64> {
    let bump = diesel::sql_query(
        "INSERT INTO user_sync AS u (user_id, seq) VALUES ($1, 1) \
         ON CONFLICT (user_id) DO UPDATE SET seq = u.seq + 1 RETURNING seq",
    );
    cached::<BigInt, _>(bump.bind::<BigInt, _>(user)).get_result(db)
}

/// The changes in one answer at most.
pub(super) const CHANGES: usize = 200;

/// A row of [`since`]; the parts are there as `kind` says.
#[derive(Debug, Queryable)]
pub(super) struct NewsRow {
    /// The number of the user's last change, the same in each row.
    pub(super) counted: i64,
    /// The number up to which was looked, the same in each row; none when there is nothing to tell.
    pub(super) looked: Option<i64>,
    /// `session`, `project`, `preferences`, or `running` for the session that runs; none when there is nothing to tell.
    pub(super) kind: Option<String>,
    pub(super) seq: Option<i64>,
    pub(super) changed_at: Option<NaiveDateTime>,
    pub(super) session: Option<RecordRow>,
    pub(super) project: Option<ProjectRow>,
    pub(super) settings: Option<SettingsRow>,
}

/// What changed after `since`, up to [`CHANGES`] and one more in the order of their numbers, then the session that
/// runs, and in each row the counter.
///
/// It is one statement, because on PostgreSQL each statement of a transaction has a snapshot of its own. In one
/// snapshot nothing can be missed: a number is taken under the lock of the counter's row, which the change holds until
/// it is committed with what it wrote, so that a snapshot with the counter at n has every change up to n, and every
/// later one gets a higher number. So the counter is as far as the answer goes, or its last change if there are more.
/// A `since` beyond the counter comes from a database that was restored since: then everything is told again.
pub(super) fn since(db: &mut Db, user: UserId, since: Cursor) -> QueryResult<Vec<NewsRow>> {
    type Row = (
        BigInt,
        Nullable<BigInt>,
        Nullable<Text>,
        Nullable<BigInt>,
        Nullable<Timestamp>,
        Nullable<RecordSql>,
        Nullable<ProjectSql>,
        Nullable<SettingsSql>,
    );
    let since = diesel::sql_query(include_str!("since.sql"))
        .bind::<BigInt, _>(user)
        .bind::<BigInt, _>(since.seq());
    cached::<Row, _>(since).load(db)
}
