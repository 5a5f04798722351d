use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Backend, Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};

use crate::pagination::SessionCursor;
use crate::sessions::record::{RecordRow, RecordSql};

/// Finds one session of the user.
pub(in crate::sessions) fn find(
    db: &mut Db,
    user: UserId,
    session_id: &str,
) -> QueryResult<Option<RecordRow>> {
    let find = statement::<RecordSql>(include_str!("find.sql"))
        .bind::<Text, _>(session_id)
        .bind::<BigInt, _>(user);
    find.get_result(db).optional()
}

pub(super) struct ListArguments {
    pub(super) user_id: UserId,
    /// Sessions that started then or later.
    pub(super) from: NaiveDateTime,
    /// Sessions before this position.
    pub(super) until: SessionCursor,
    /// `,name,name,`
    pub(super) statuses: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) category: Option<String>,
    pub(super) tag: Option<String>,
    pub(super) limit: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListStrategy {
    /// Every session matches: the search reads the maximum page and one more.
    Plain,
    /// The search reads up to 10,000 sessions.
    Filtered,
    /// The same among the open sessions, which have an index of their own.
    Open,
}

/// Returns the sessions that match within the search, newest first.
pub(super) fn list(
    db: &mut Db,
    strategy: ListStrategy,
    arguments: &ListArguments,
) -> QueryResult<Vec<RecordRow>> {
    let text = match (strategy, db.backend()) {
        (ListStrategy::Plain, _) => return list_plain(db, arguments),
        (ListStrategy::Open, Backend::Postgres) => include_str!("open.postgres.sql"),
        (ListStrategy::Open, Backend::Sqlite) => include_str!("open.sqlite.sql"),
        (ListStrategy::Filtered, Backend::Postgres) => include_str!("filtered.postgres.sql"),
        (ListStrategy::Filtered, Backend::Sqlite) => include_str!("filtered.sqlite.sql"),
    };
    statement::<RecordSql>(text)
        .bind::<BigInt, _>(arguments.user_id)
        .bind::<Timestamp, _>(arguments.from)
        .bind::<Timestamp, _>(arguments.until.started_at)
        .bind::<Text, _>(&arguments.until.session_id)
        .bind::<Nullable<Text>, _>(&arguments.statuses)
        .bind::<Nullable<Text>, _>(&arguments.project_id)
        .bind::<Nullable<Text>, _>(&arguments.category)
        .bind::<Nullable<Text>, _>(&arguments.tag)
        .bind::<Integer, _>(arguments.limit)
        .load(db)
}

fn list_plain(db: &mut Db, arguments: &ListArguments) -> QueryResult<Vec<RecordRow>> {
    statement::<RecordSql>(include_str!("plain.sql"))
        .bind::<BigInt, _>(arguments.user_id)
        .bind::<Timestamp, _>(arguments.from)
        .bind::<Timestamp, _>(arguments.until.started_at)
        .bind::<Text, _>(&arguments.until.session_id)
        .bind::<Integer, _>(arguments.limit)
        .load(db)
}

/// Returns the last session of the search, if there are more behind it.
pub(super) fn find_search_end(
    db: &mut Db,
    strategy: ListStrategy,
    arguments: &ListArguments,
) -> QueryResult<Option<SessionCursor>> {
    let text = match (strategy, db.backend()) {
        (ListStrategy::Plain, _) => return Ok(None),
        (ListStrategy::Filtered, _) => {
            "SELECT started_at, session_id FROM sessions \
             WHERE user_id = $1 AND started_at >= $2 AND started_at <= $3 AND (started_at < $3 OR session_id < $4) \
             ORDER BY started_at DESC, session_id DESC LIMIT 2 OFFSET 9999"
        }
        (ListStrategy::Open, Backend::Postgres) => {
            "SELECT started_at, session_id FROM sessions WHERE status IN ('running', 'awaiting_submit') \
             AND user_id = $1 AND started_at >= $2 AND started_at <= $3 AND (started_at < $3 OR session_id < $4) \
             ORDER BY started_at DESC, session_id DESC LIMIT 2 OFFSET 9999"
        }
        (ListStrategy::Open, Backend::Sqlite) => {
            "SELECT started_at, session_id FROM sessions INDEXED BY sessions_open \
             WHERE status IN ('running', 'awaiting_submit') \
             AND user_id = $1 AND started_at >= $2 AND started_at <= $3 AND (started_at < $3 OR session_id < $4) \
             ORDER BY started_at DESC, session_id DESC LIMIT 2 OFFSET 9999"
        }
    };
    let last = statement::<(Timestamp, Text)>(text)
        .bind::<BigInt, _>(arguments.user_id)
        .bind::<Timestamp, _>(arguments.from)
        .bind::<Timestamp, _>(arguments.until.started_at)
        .bind::<Text, _>(&arguments.until.session_id);
    let rows: Vec<(NaiveDateTime, String)> = last.load(db)?;
    let has_more = rows.len() > 1;
    let last = rows.into_iter().next().filter(|_| has_more);
    Ok(last.map(|(started_at, session_id)| SessionCursor {
        started_at,
        session_id,
    }))
}
