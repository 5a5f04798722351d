use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Backend, Db};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};

use crate::page::Position;
use crate::sessions::record::{RecordRow, RecordSql, record_columns};
use db_kit::statement::{Statement, arguments};

arguments! {
    struct FindArguments {
        user_id: i64 as BigInt,
        session_id: String as Text,
    }
}

/// One session of the user's.
pub(in crate::sessions) fn find(
    db: &mut Db,
    user: UserId,
    session_id: &str,
) -> QueryResult<Option<RecordRow>> {
    const TEXT: &str = concat!(
        "SELECT ",
        record_columns!(),
        " FROM a JOIN sessions ON session_id = p_session_id AND user_id = p_user_id"
    );
    let arguments = FindArguments {
        user_id: user.get(),
        session_id: session_id.to_owned(),
    };
    Statement::<_, RecordSql>::new(|| TEXT, &arguments)
        .get_result(db)
        .optional()
}

arguments! {
    /// Which sessions to list.
    pub(super) struct ListArguments {
        user_id: i64 as BigInt,
        /// Started then or later.
        from: NaiveDateTime as Timestamp,
        /// Started before then, or then and with an id before the next one.
        until: NaiveDateTime as Timestamp,
        until_id: String as Text,
        /// `,name,name,`
        statuses: Option<String> as Nullable<Text>,
        project_id: Option<String> as Nullable<Text>,
        category: Option<String> as Nullable<Text>,
        tag: Option<String> as Nullable<Text>,
        limit: i32 as Integer,
    }
}

/// The user's sessions in the span, newest first. The bounds are values of their own, not columns of a join, and
/// how many rows are looked at is written out: only so does PostgreSQL know that few are wanted, and reads them
/// in order from the index instead of sorting them all. `$these` ends where a condition is to follow.
macro_rules! newest {
    ($these:literal) => {
        concat!(
            " FROM ",
            $these,
            " user_id = (SELECT p_user_id FROM a) \
              AND started_at >= (SELECT p_from FROM a) AND started_at <= (SELECT p_until FROM a) \
              AND (started_at < (SELECT p_until FROM a) OR session_id < (SELECT p_until_id FROM a)) \
              ORDER BY started_at DESC, session_id DESC"
        )
    };
}

/// Of the first `$rows` of them, those that match.
macro_rules! matching {
    ($these:literal, $rows:literal, $has_tag:literal) => {
        concat!(
            "SELECT ",
            record_columns!(),
            " FROM (SELECT *",
            newest!($these),
            " LIMIT ",
            $rows,
            ") AS sessions \
             WHERE ((SELECT p_statuses FROM a) IS NULL OR (SELECT p_statuses FROM a) LIKE '%,' || status || ',%') \
             AND ((SELECT p_project_id FROM a) IS NULL OR project_id = (SELECT p_project_id FROM a)) \
             AND ((SELECT p_category FROM a) IS NULL OR category = (SELECT p_category FROM a)) \
             AND CASE WHEN (SELECT p_tag FROM a) IS NULL THEN true ELSE ",
            $has_tag,
            " END ORDER BY started_at DESC, session_id DESC LIMIT (SELECT p_limit FROM a)"
        )
    };
}

/// Where to look for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Every session matches: the longest page and one more are looked at.
    Plain,
    /// 10,000 sessions are looked at.
    Filtered,
    /// The same, among those that are open, which have an index of their own.
    Open,
}

/// What matches among the sessions that are looked at, newest first.
pub(super) fn list(db: &mut Db, look: Look, of: &ListArguments) -> QueryResult<Vec<RecordRow>> {
    let text = match (look, db.backend()) {
        (Look::Plain, _) => matching!("sessions WHERE", 201, "true"),
        // What is open has no tags yet.
        (Look::Open, Backend::Postgres) => matching!(
            "sessions WHERE status IN ('running', 'awaiting_submit') AND",
            10000,
            "false"
        ),
        // Told which index to take: without statistics SQLite looks for the few that are open in the whole history.
        (Look::Open, Backend::Sqlite) => matching!(
            "sessions INDEXED BY sessions_open WHERE status IN ('running', 'awaiting_submit') AND",
            10000,
            "false"
        ),
        (Look::Filtered, Backend::Postgres) => {
            matching!(
                "sessions WHERE",
                10000,
                "jsonb_exists(tags::jsonb, (SELECT p_tag FROM a))"
            )
        }
        (Look::Filtered, Backend::Sqlite) => matching!(
            "sessions WHERE",
            10000,
            "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = (SELECT p_tag FROM a))"
        ),
    };
    Statement::<_, RecordSql>::new(text, of).load(db)
}

/// The last of the sessions that are looked at, when there are more behind it.
pub(super) fn last_looked_at(
    db: &mut Db,
    look: Look,
    of: &ListArguments,
) -> QueryResult<Option<Position>> {
    macro_rules! last {
        ($these:literal) => {
            concat!(
                "SELECT started_at, session_id",
                newest!($these),
                " LIMIT 2 OFFSET 9999"
            )
        };
    }
    let text = match (look, db.backend()) {
        (Look::Plain, _) => return Ok(None),
        (Look::Filtered, _) => last!("sessions WHERE"),
        (Look::Open, Backend::Postgres) => {
            last!("sessions WHERE status IN ('running', 'awaiting_submit') AND")
        }
        (Look::Open, Backend::Sqlite) => last!(
            "sessions INDEXED BY sessions_open WHERE status IN ('running', 'awaiting_submit') AND"
        ),
    };
    let rows: Vec<(NaiveDateTime, String)> =
        Statement::<_, (Timestamp, Text)>::new(text, of).load(db)?;
    let more = rows.len() > 1;
    let last = rows.into_iter().next().filter(|_| more);
    Ok(last.map(|(started_at, session_id)| Position {
        started_at,
        session_id,
    }))
}
