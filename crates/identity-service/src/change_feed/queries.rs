use std::collections::HashSet;

use db_kit::{Backend, Db, on_backend, statement};
use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamp};

use super::ChangeSubject;
use crate::schema::changes;

/// The maximum number of rows in one read. After a larger burst the reader empties the whole cache.
pub(super) const MAX_ROWS: usize = 10_000;

pub(super) type Row = (i64, String, String);

/// The number of rows in one statement.
const BATCH: usize = 1_000;

/// Inserts the changed subjects into the feed. Called last in a transaction.
pub(crate) fn record(db: &mut Db, subjects: &[ChangeSubject]) -> QueryResult<()> {
    let mut recorded = HashSet::new();
    let rows: Vec<_> = subjects
        .iter()
        .filter(|subject| recorded.insert(*subject))
        .map(|subject| {
            (
                changes::kind.eq(subject.kind()),
                changes::subject.eq(subject.name()),
            )
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    if let Db::Pg(conn) = db {
        // Wakes the other processes, see [`listen`].
        conn.batch_execute("NOTIFY holdfast_identity_changes")?;
    }
    rows.chunks(BATCH).try_for_each(|rows| {
        on_backend!(db, c => diesel::insert_into(changes::table).values(rows).execute(c)).map(drop)
    })
}

/// How far a reader has read. Neither form uses a clock, so that neither a slow commit nor a changed clock hides a
/// row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// PostgreSQL assigns ids before commit, in any order. Every transaction before this one had ended.
    Transaction(i64),
    /// SQLite has a single writer, so that ids are in commit order. This is the newest one.
    Id(i64),
}

/// Returns the position that a read beginning now is certain to reach.
pub(super) fn position(db: &mut Db) -> QueryResult<Position> {
    match db {
        Db::Pg(conn) => {
            let running =
                statement::<BigInt>("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint");
            let oldest = running.get_result(conn)?;
            Ok(Position::Transaction(oldest))
        }
        Db::Sqlite(conn) => changes::table
            .select(diesel::dsl::max(changes::id))
            .first::<Option<i64>>(conn)
            .map(|newest| Position::Id(newest.unwrap_or_default())),
    }
}

/// Returns the newest [`MAX_ROWS`] rows that may have been committed since a read began at `position`. Rows that the
/// earlier read returned may be among them.
pub(super) fn since(db: &mut Db, position: Position) -> QueryResult<Vec<Row>> {
    let limit = i64::try_from(MAX_ROWS).unwrap_or(i64::MAX);
    let rows = changes::table
        .order(changes::id.desc())
        .limit(limit)
        .select((changes::id, changes::kind, changes::subject));
    match position {
        Position::Transaction(oldest) => rows.filter(changes::transaction_id.ge(oldest)).load(db),
        Position::Id(newest) => rows.filter(changes::id.gt(newest)).load(db),
    }
}

/// Prepares a connection that only reads the feed. On PostgreSQL this sets a short timeout and an application name,
/// and subscribes to the notifications.
pub(super) fn listen(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => conn.batch_execute(
            "SET statement_timeout = '1s'; SET application_name = 'holdfast_identity_changes'; \
             LISTEN holdfast_identity_changes",
        ),
        Db::Sqlite(conn) => conn.batch_execute("PRAGMA query_only = ON"),
    }
}

/// Whether another connection has committed something since the last call.
pub(super) fn has_changes(db: &mut Db, version: &mut i64) -> QueryResult<bool> {
    match db {
        Db::Pg(conn) => {
            let mut any = false;
            for notification in conn.notifications_iter() {
                notification?;
                any = true;
            }
            Ok(any)
        }
        Db::Sqlite(conn) => {
            let data_version = statement::<BigInt>("PRAGMA data_version");
            let now: i64 = data_version.get_result(conn)?;
            Ok(std::mem::replace(version, now) != now)
        }
    }
}

/// Deletes rows that every reader has read: those older than ten minutes by the database's clock. Readers come twice
/// a second; the margin covers changed clocks.
pub(crate) fn sweep(db: &mut Db) -> QueryResult<usize> {
    let until = match db.backend() {
        Backend::Postgres => {
            sql::<Timestamp>("(clock_timestamp() AT TIME ZONE 'UTC') - INTERVAL '10 minutes'")
        }
        Backend::Sqlite => sql::<Timestamp>("strftime('%Y-%m-%d %H:%M:%f', 'now', '-10 minutes')"),
    };
    diesel::delete(changes::table.filter(changes::at.lt(until))).execute(db)
}
