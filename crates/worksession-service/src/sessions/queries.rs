use std::collections::{BTreeSet, HashSet};

use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text, Timestamp};

use super::model::{NewFlag, SessionRow, SessionSql};
use crate::schema::{session_flags, sessions};

pub(super) fn find(db: &mut Db, user: UserId, session_id: &str) -> QueryResult<Option<SessionRow>> {
    let find = statement::<SessionSql>(include_str!("find.sql"))
        .bind::<Text, _>(session_id)
        .bind::<BigInt, _>(user);
    find.get_result(db).optional()
}

/// Returns up to `limit` open sessions whose planned end is `open_after` or earlier. All sweepers use the same order
/// of users, so that no two of them deadlock.
pub(super) fn list_overdue(
    db: &mut Db,
    open_after: NaiveDateTime,
    limit: i32,
) -> QueryResult<Vec<(UserId, String)>> {
    statement::<(BigInt, Text)>(
        "SELECT user_id, session_id FROM sessions \
         WHERE status IN ('running', 'awaiting_submit') AND expected_end_at <= $1 \
         ORDER BY user_id, session_id LIMIT $2",
    )
    .bind::<Timestamp, _>(open_after)
    .bind::<Integer, _>(limit)
    .load(db)
}

/// Marks an open session as abandoned, as its user's change `seq`; none when a submit or another sweeper came first.
pub(super) fn mark_abandoned(
    db: &mut Db,
    session_id: &str,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<Option<SessionRow>> {
    let abandon = statement::<SessionSql>(include_str!("abandon.sql"))
        .bind::<BigInt, _>(seq)
        .bind::<Timestamp, _>(now)
        .bind::<Text, _>(session_id);
    abandon.get_result(db).optional()
}

/// Counts a submit whose locked fields differ from an open session, and returns the count; none if it is not open.
pub(super) fn count_mismatch(
    db: &mut Db,
    session_id: &str,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<Option<i32>> {
    let open = sessions::status
        .eq("running")
        .or(sessions::status.eq("awaiting_submit"));
    diesel::update(sessions::table.filter(sessions::session_id.eq(session_id).and(open)))
        .set((
            sessions::locked_mismatches.eq(sessions::locked_mismatches + 1),
            sessions::seq.eq(seq),
            sessions::changed_at.eq(now),
        ))
        .returning(sessions::locked_mismatches)
        .get_result(db)
        .optional()
}

pub(super) fn insert_flag(db: &mut Db, flag: &NewFlag) -> QueryResult<()> {
    diesel::insert_into(session_flags::table)
        .values(flag)
        .execute(db)
        .map(drop)
}

/// Locks sessions until the transaction ends, and returns those that exist. The deletion of a session then either
/// includes what is written about it, or prevents that write.
pub(crate) fn lock_existing(db: &mut Db, ids: &BTreeSet<&str>) -> QueryResult<HashSet<String>> {
    let rows = sessions::table
        .filter(sessions::session_id.eq_any(ids.iter().copied()))
        .order(sessions::session_id)
        .select(sessions::session_id);
    let existing: Vec<String> = match db {
        Db::Pg(conn) => rows.for_key_share().load(conn)?,
        Db::Sqlite(conn) => rows.load(conn)?,
    };
    Ok(existing.into_iter().collect())
}

/// How the deletion of sessions is locked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DeletionLock {
    /// Nobody deletes sessions meanwhile.
    Shared,
    /// Nobody else holds the lock in either way: all that they wrote about sessions is visible.
    Exclusive,
}

/// Locks the deletion of sessions until the transaction ends. Writers about many sessions use it where a lock on each
/// row would cost more than the writes. On SQLite a write transaction is exclusive anyway.
pub(crate) fn lock_deletion(db: &mut Db, lock: DeletionLock) -> QueryResult<()> {
    let Db::Pg(conn) = db else {
        return Ok(());
    };
    // The key is the id of this table, because another schema of the database may have its own table.
    let text = match lock {
        DeletionLock::Shared => {
            "SELECT pg_advisory_xact_lock_shared('sessions'::regclass::oid::bigint)"
        }
        DeletionLock::Exclusive => {
            "SELECT pg_advisory_xact_lock('sessions'::regclass::oid::bigint)"
        }
    };
    statement::<Text>(text).execute(conn).map(drop)
}
