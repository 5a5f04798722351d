use std::collections::HashMap;

use chrono::NaiveDateTime;
use db_kit::outbox::{self, NewOutboxRow};
use db_kit::{Db, Gather, cached, execute_named, json};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp};
use serde::Serialize;

use crate::sessions::model::{SessionRow, SessionSql};

/// A session to be started, the times that decide whether it was started before, and its event.
#[derive(Debug, Serialize)]
pub(crate) struct Attempt {
    #[serde(flatten)]
    pub(super) session: SessionRow,
    pub(super) idempotency_key: Option<String>,
    /// A running session with the same plan that started later than this is the same start.
    #[serde(serialize_with = "json::timestamp")]
    pub(super) repeated_after: NaiveDateTime,
    /// A key counts for sessions that started later than this.
    #[serde(serialize_with = "json::timestamp")]
    pub(super) key_after: NaiveDateTime,
    /// Sessions whose planned end is later than this are open.
    #[serde(serialize_with = "json::timestamp")]
    pub(super) open_after: NaiveDateTime,
    pub(super) event: NewOutboxRow,
}

/// A session that a start led to.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct Opened {
    pub(in crate::sessions) row: SessionRow,
    /// False when an earlier request had opened it.
    pub(in crate::sessions) fresh: bool,
}

/// Starts sessions for all who ask for it at the same time; none when another transaction holds what is the user's.
pub(crate) type Starts = Gather<Attempt, Option<Opened>>;

/// Starts sessions, on PostgreSQL of different users, unless earlier starts did, and ends those that run. None for a user
/// whose row is locked: do it again after [`crate::sync::bump`]. On SQLite inside of a write transaction.
pub(super) fn start_many(db: &mut Db, attempts: &[Attempt]) -> QueryResult<Vec<Option<Opened>>> {
    match db {
        Db::Pg(conn) => {
            let start = diesel::sql_query(include_str!("start.postgres.sql"))
                .bind::<Text, _>(json::to_text(&attempts)?);
            let opened: Vec<Opened> = cached::<(SessionSql, Bool), _>(start).load(conn)?;
            let opened = opened
                .into_iter()
                .map(|opened| (opened.row.user_id, opened));
            let mut opened: HashMap<_, _> = opened.collect();
            let attempts = attempts.iter();
            Ok(attempts
                .map(|attempt| opened.remove(&attempt.session.user_id))
                .collect())
        }
        Db::Sqlite(_) => attempts
            .iter()
            .map(|attempt| start_one(db, attempt))
            .collect(),
    }
}

fn start_one(db: &mut Db, attempt: &Attempt) -> QueryResult<Option<Opened>> {
    if let Some(row) = earlier(db, attempt)? {
        return Ok(Some(Opened { row, fresh: false }));
    }
    if let Db::Sqlite(conn) = db {
        for statement in include_str!("start.sqlite.sql").split_inclusive(";\n") {
            execute_named(conn, statement, std::slice::from_ref(attempt))?;
        }
    }
    outbox::insert(db, &attempt.event)?;
    let row = attempt.session.clone();
    Ok(Some(Opened { row, fresh: true }))
}

/// The session of an earlier start that this one repeats.
pub(super) fn earlier(db: &mut Db, attempt: &Attempt) -> QueryResult<Option<SessionRow>> {
    let session = &attempt.session;
    let earlier = diesel::sql_query(include_str!("earlier.sql"))
        .bind::<BigInt, _>(session.user_id)
        .bind::<Nullable<Text>, _>(&attempt.idempotency_key)
        .bind::<Timestamp, _>(attempt.key_after)
        .bind::<Text, _>(&session.start_digest)
        .bind::<Timestamp, _>(attempt.open_after)
        .bind::<Timestamp, _>(attempt.repeated_after);
    cached::<SessionSql, _>(earlier).get_result(db).optional()
}
