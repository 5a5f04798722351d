use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use super::cursor::SyncCursor;
use crate::preferences::{PreferencesRow, PreferencesSql};
use crate::projects::{ProjectRow, ProjectSql};
use crate::sessions::record::{RecordRow, RecordSql};

/// Takes the user's next change number, and locks the user's data until the transaction ends. Call it before taking
/// any other lock.
pub(crate) fn bump(db: &mut Db, user: UserId) -> QueryResult<i64> {
    statement::<BigInt>(
        "INSERT INTO user_sync AS u (user_id, seq) VALUES ($1, 1) \
         ON CONFLICT (user_id) DO UPDATE SET seq = u.seq + 1 RETURNING seq",
    )
    .bind::<BigInt, _>(user)
    .get_result(db)
}

/// The most changes in one response.
pub(super) const MAX_CHANGES: usize = 200;

/// A row of [`list`]. `kind` decides which parts are present.
#[derive(Debug, Queryable)]
pub(super) struct SyncRow {
    /// The number of the user's last change, the same in each row.
    pub(super) counter: i64,
    /// The number up to which changes were searched, the same in each row; none without a change.
    pub(super) searched_to: Option<i64>,
    /// `session`, `project`, `preferences`, or `running` for the running session; none without any of them.
    pub(super) kind: Option<String>,
    pub(super) seq: Option<i64>,
    pub(super) changed_at: Option<NaiveDateTime>,
    pub(super) session: Option<RecordRow>,
    pub(super) project: Option<ProjectRow>,
    pub(super) settings: Option<PreferencesRow>,
}

/// Returns the changes after `since`, up to [`MAX_CHANGES`] and one more in the order of their numbers, then the running
/// session. Each row has the counter.
///
/// It is one statement, because each statement of a PostgreSQL transaction has its own snapshot. A change holds the lock of
/// the counter's row until it commits. A snapshot with the counter at n therefore has every change up to n, and later
/// changes get higher numbers. The response goes as far as the counter, or as its own last change if there are more. A
/// `since` beyond the counter is older than a restore of the database: then the response starts from the beginning.
pub(super) fn list(db: &mut Db, user: UserId, since: SyncCursor) -> QueryResult<Vec<SyncRow>> {
    type Row = (
        BigInt,
        Nullable<BigInt>,
        Nullable<Text>,
        Nullable<BigInt>,
        Nullable<Timestamp>,
        Nullable<RecordSql>,
        Nullable<ProjectSql>,
        Nullable<PreferencesSql>,
    );
    let since = statement::<Row>(include_str!("changes.sql"))
        .bind::<BigInt, _>(user)
        .bind::<BigInt, _>(since.seq());
    since.load(db)
}
