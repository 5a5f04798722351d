use auth_types::{TeamId, UserId};
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Backend, Db, json, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use crate::sessions::SessionStatus;
use crate::sessions::record::{RecordRow, RecordSql};

/// The limit of a read of changes. A result of this size is incomplete.
pub(super) const MAX_HEADS: usize = 10_001;
/// The limit of a read of missed changes. A result of this size is incomplete.
pub(super) const MAX_MISSED: usize = 201;
/// How far the clock of another process can be ahead. PostgreSQL estimates that a range with an end is short, and uses the
/// index. It estimates an open range as a third of the table.
const AHEAD: TimeDelta = TimeDelta::hours(1);
/// Sessions read in one statement.
const AT_ONCE: usize = 500;

#[derive(Debug, Queryable)]
pub(super) struct UpdateHead {
    pub(super) session_id: String,
    pub(super) seq: i64,
    pub(super) status: SessionStatus,
}

/// A changed session with everything that its events contain.
#[derive(Debug, Queryable)]
pub(super) struct UpdateRow {
    pub(super) session: RecordRow,
    pub(super) user_id: UserId,
    pub(super) username: String,
    pub(super) team_id: Option<TeamId>,
    pub(super) team_name: Option<String>,
    pub(super) submit_result: Option<String>,
    pub(super) changed_at: NaiveDateTime,
    pub(super) seq: i64,
}

type UpdateSql = (
    RecordSql,
    BigInt,
    Text,
    Nullable<BigInt>,
    Nullable<Text>,
    Nullable<Text>,
    Timestamp,
    BigInt,
);

/// A range of times at which sessions changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpdateWindow {
    /// Exclusive.
    pub(super) after: NaiveDateTime,
    pub(super) now: NaiveDateTime,
}

/// Returns up to [`MAX_HEADS`] sessions of all users that changed in the range.
pub(super) fn list_heads(db: &mut Db, window: UpdateWindow) -> QueryResult<Vec<UpdateHead>> {
    statement::<(Text, BigInt, Text)>(
        "SELECT session_id, seq, status FROM sessions \
         WHERE changed_at > $1 AND changed_at <= $2 LIMIT 10001",
    )
    .bind::<Timestamp, _>(window.after)
    .bind::<Timestamp, _>(window.now + AHEAD)
    .load(db)
}

/// Returns these sessions in their current state. Each statement sees its own moment.
pub(super) fn list_updates(db: &mut Db, ids: &[String]) -> QueryResult<Vec<UpdateRow>> {
    let text = match db.backend() {
        Backend::Postgres => include_str!("changes.postgres.sql"),
        Backend::Sqlite => include_str!("changes.sqlite.sql"),
    };
    let mut rows = Vec::with_capacity(ids.len());
    for ids in ids.chunks(AT_ONCE) {
        let changed = statement::<UpdateSql>(text).bind::<Text, _>(json::to_text(&ids)?);
        rows.extend(changed.load::<UpdateRow>(db)?);
    }
    Ok(rows)
}

/// Returns up to [`MAX_MISSED`] changed sessions in the range, of the user and on these teams' projects. The result is
/// none when so many sessions of all users changed that the read would slow down others.
pub(super) fn list_missed(
    db: &mut Db,
    user: UserId,
    teams: &[TeamId],
    window: UpdateWindow,
) -> QueryResult<Option<Vec<UpdateRow>>> {
    let until = window.now + AHEAD;
    let all: i64 = statement::<BigInt>(
        "SELECT COUNT(*) FROM (SELECT 1 FROM sessions \
         WHERE changed_at > $1 AND changed_at <= $2 LIMIT 10001) AS changed",
    )
    .bind::<Timestamp, _>(window.after)
    .bind::<Timestamp, _>(until)
    .get_result(db)?;
    if usize::try_from(all).is_ok_and(|all| all >= MAX_HEADS) {
        return Ok(None);
    }
    let teams: String = teams.iter().map(|team| format!(",{team}")).collect();
    let missed = statement::<UpdateSql>(include_str!("missed.sql"))
        .bind::<Timestamp, _>(window.after)
        .bind::<Timestamp, _>(until)
        .bind::<BigInt, _>(user)
        .bind::<Text, _>(teams + ",");
    missed.load(db).map(Some)
}
