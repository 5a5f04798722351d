use auth_types::{TeamId, UserId};
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Backend, Db};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use crate::sessions::Status;
use crate::sessions::record::{RecordRow, RecordSql, record_columns};
use db_kit::statement::{Statement, arguments};

/// Changes that are told of at once, at most; there are more when a look gives this many.
pub(super) const MOST_HEADS: usize = 10_001;
/// Changes that are told again to a client that comes back, at most; there are more when there are this many.
pub(super) const MOST_MISSED: usize = 201;
/// How far a clock of another process may be ahead. A span with an end is known to PostgreSQL to be short, and read
/// from its index; what has none it takes for a third of all there is.
const AHEAD: TimeDelta = TimeDelta::hours(1);
/// Sessions that are read in one statement.
const AT_ONCE: usize = 500;

/// That a session changed.
#[derive(Debug, Queryable)]
pub(super) struct Head {
    pub(super) session_id: String,
    pub(super) seq: i64,
    pub(super) status: Status,
}

/// A changed session with all that is told of it.
#[derive(Debug, Queryable)]
pub(super) struct NewsRow {
    pub(super) session: RecordRow,
    pub(super) user_id: UserId,
    pub(super) username: String,
    pub(super) team_id: Option<TeamId>,
    pub(super) team_name: Option<String>,
    pub(super) submit_result: Option<String>,
    pub(super) changed_at: NaiveDateTime,
    pub(super) seq: i64,
}

type NewsSql = (
    RecordSql,
    BigInt,
    Text,
    Nullable<BigInt>,
    Nullable<Text>,
    Nullable<Text>,
    Timestamp,
    BigInt,
);

macro_rules! news_columns {
    () => {
        concat!(
            record_columns!(),
            ", user_id, username, team_id, team_name, submit_result, changed_at, seq"
        )
    };
}

/// When something changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Not this moment itself.
    pub(super) after: NaiveDateTime,
    pub(super) now: NaiveDateTime,
}

arguments! {
    struct HeadsArguments {
        after: NaiveDateTime as Timestamp,
        until: NaiveDateTime as Timestamp,
    }
}

/// Up to [`MOST_HEADS`] sessions that changed in that span, whosever they are.
pub(super) fn heads(db: &mut Db, span: Span) -> QueryResult<Vec<Head>> {
    const TEXT: &str = "SELECT session_id, seq, status FROM sessions \
        WHERE changed_at > (SELECT p_after FROM a) AND changed_at <= (SELECT p_until FROM a) LIMIT 10001";
    let arguments = HeadsArguments {
        after: span.after,
        until: span.now + AHEAD,
    };
    Statement::<_, (Text, BigInt, Text)>::new(|| TEXT, &arguments).load(db)
}

arguments! {
    struct NewsArguments {
        /// A JSON array.
        ids: String as Text,
    }
}

/// These sessions as they are now, each in a moment of its own.
pub(super) fn news(db: &mut Db, ids: &[&str]) -> QueryResult<Vec<NewsRow>> {
    macro_rules! text {
        ($list:literal) => {
            concat!(
                "SELECT ",
                news_columns!(),
                " FROM sessions WHERE session_id IN (",
                $list,
                ")"
            )
        };
    }
    let text = match db.backend() {
        Backend::Postgres => text!("SELECT json_array_elements_text(CAST(p_ids AS json)) FROM a"),
        Backend::Sqlite => text!("SELECT value FROM a, json_each(p_ids)"),
    };
    let mut rows = Vec::with_capacity(ids.len());
    for ids in ids.chunks(AT_ONCE) {
        let arguments = NewsArguments { ids: list(ids)? };
        let read: Vec<NewsRow> = Statement::<_, NewsSql>::new(text, &arguments).load(db)?;
        rows.extend(read);
    }
    Ok(rows)
}

arguments! {
    struct MissedArguments {
        user_id: i64 as BigInt,
        /// A JSON array.
        teams: String as Text,
        after: NaiveDateTime as Timestamp,
        until: NaiveDateTime as Timestamp,
    }
}

/// What changed in that span of the user's own and on the projects of these teams, up to [`MOST_MISSED`]; none when so
/// much changed of everybody's that looking through it would cost others their time.
pub(super) fn missed(
    db: &mut Db,
    user: UserId,
    teams: &[TeamId],
    span: Span,
) -> QueryResult<Option<Vec<NewsRow>>> {
    const ALL: &str = "SELECT COUNT(*) FROM (SELECT 1 FROM sessions WHERE changed_at > (SELECT p_after FROM a) \
        AND changed_at <= (SELECT p_until FROM a) LIMIT 10001) AS changed";
    macro_rules! text {
        ($teams:literal) => {
            concat!(
                "SELECT ",
                news_columns!(),
                " FROM sessions WHERE changed_at > (SELECT p_after FROM a) AND changed_at <= (SELECT p_until FROM a) \
                  AND (user_id = (SELECT p_user_id FROM a) OR team_id IN (",
                $teams,
                ")) LIMIT 201"
            )
        };
    }
    let text = match db.backend() {
        Backend::Postgres => {
            text!("SELECT CAST(json_array_elements_text(CAST(p_teams AS json)) AS BIGINT) FROM a")
        }
        Backend::Sqlite => text!("SELECT value FROM a, json_each(p_teams)"),
    };
    let arguments = MissedArguments {
        user_id: user.get(),
        teams: list(teams)?,
        after: span.after,
        until: span.now + AHEAD,
    };
    let all: i64 = Statement::<_, BigInt>::new(|| ALL, &arguments).get_result(db)?;
    if usize::try_from(all).is_ok_and(|all| all >= MOST_HEADS) {
        return Ok(None);
    }
    Statement::<_, NewsSql>::new(text, &arguments)
        .load(db)
        .map(Some)
}

fn list<T: serde::Serialize>(values: &[T]) -> QueryResult<String> {
    serde_json::to_string(values)
        .map_err(|cause| diesel::result::Error::SerializationError(cause.into()))
}
