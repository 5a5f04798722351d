use std::collections::HashMap;

use chrono::NaiveDateTime;
use db_kit::outbox::{self, NewOutboxRow};
use db_kit::{Batcher, Db, execute_named, json, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp};
use serde::Serialize;

use crate::sessions::model::{SessionRow, SessionSql};

/// A session to start, its event, and the times that decide whether the start is a repeated one.
#[derive(Debug, Serialize)]
pub(crate) struct StartAttempt {
    #[serde(flatten)]
    pub(super) session: SessionRow,
    pub(super) idempotency_key: Option<String>,
    /// A running session with the same plan that started after this is the same start.
    #[serde(serialize_with = "json::timestamp")]
    pub(super) repeated_after: NaiveDateTime,
    /// A key counts for sessions that started after this.
    #[serde(serialize_with = "json::timestamp")]
    pub(super) key_after: NaiveDateTime,
    /// Sessions whose planned end is after this are open.
    #[serde(serialize_with = "json::timestamp")]
    pub(super) open_after: NaiveDateTime,
    pub(super) event: NewOutboxRow,
}

/// The session that a start led to.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct StartedSession {
    pub(in crate::sessions) row: SessionRow,
    /// Whether this request created the session; false for a repeated start.
    pub(in crate::sessions) is_new: bool,
}

/// Coalesces the starts of concurrent callers. The result is none when another transaction holds the user's lock,
/// and for a user's first start, because there is no row to lock yet.
pub(crate) type StartBatcher = Batcher<StartAttempt, Option<StartedSession>>;

/// Starts sessions unless they repeat earlier starts, and ends the running ones. On PostgreSQL they are of different users.
/// Returns none for a user whose row is locked, changed or missing: retry after [`crate::sync::bump`]. On SQLite it runs
/// inside a write transaction.
pub(super) fn start_many(
    db: &mut Db,
    attempts: &[StartAttempt],
) -> QueryResult<Vec<Option<StartedSession>>> {
    match db {
        Db::Pg(conn) => {
            let start = statement::<(SessionSql, Bool)>(include_str!("start.postgres.sql"))
                .bind::<Text, _>(json::to_text(&attempts)?);
            let started: Vec<StartedSession> = start.load(conn)?;
            let by_user = started.into_iter().map(|one| (one.row.user_id, one));
            let mut by_user: HashMap<_, _> = by_user.collect();
            let take = |attempt: &StartAttempt| by_user.remove(&attempt.session.user_id);
            Ok(attempts.iter().map(take).collect())
        }
        Db::Sqlite(_) => attempts
            .iter()
            .map(|attempt| start_one(db, attempt))
            .collect(),
    }
}

fn start_one(db: &mut Db, attempt: &StartAttempt) -> QueryResult<Option<StartedSession>> {
    if let Some(row) = find_repeat(db, attempt)? {
        return Ok(Some(StartedSession { row, is_new: false }));
    }
    if let Db::Sqlite(conn) = db {
        for statement in include_str!("start.sqlite.sql").split_inclusive(";\n") {
            execute_named(conn, statement, std::slice::from_ref(attempt))?;
        }
    }
    outbox::insert(db, &attempt.event)?;
    let row = attempt.session.clone();
    Ok(Some(StartedSession { row, is_new: true }))
}

/// Returns the session of an earlier start that this one repeats.
pub(super) fn find_repeat(db: &mut Db, attempt: &StartAttempt) -> QueryResult<Option<SessionRow>> {
    let session = &attempt.session;
    let find = statement::<SessionSql>(include_str!("repeated.sql"))
        .bind::<BigInt, _>(session.user_id)
        .bind::<Nullable<Text>, _>(&attempt.idempotency_key)
        .bind::<Timestamp, _>(attempt.key_after)
        .bind::<Text, _>(&session.start_digest)
        .bind::<Timestamp, _>(attempt.open_after)
        .bind::<Timestamp, _>(attempt.repeated_after);
    find.get_result(db).optional()
}
