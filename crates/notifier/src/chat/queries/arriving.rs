//! Notifications that are written down for the first time.

use std::collections::HashSet;

use chrono::NaiveDateTime;
use db_kit::{Db, prepared};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamp};

use super::deliveries::settle;
use crate::chat::model::{Ending, NewDelivery};
use crate::schema::deliveries;

/// Writes notifications down, as many as there are in one statement where the database can, and gives the ids of those
/// that were not there before.
pub(in crate::chat) fn insert_deliveries(
    db: &mut Db,
    rows: &[NewDelivery],
) -> QueryResult<HashSet<String>> {
    match db {
        _ if rows.is_empty() => Ok(HashSet::new()),
        Db::Pg(conn) => insert_all(conn, rows),
        Db::Sqlite(conn) => {
            let mut new = HashSet::new();
            for row in rows {
                let inserted = diesel::insert_into(deliveries::table)
                    .values((
                        deliveries::event_id.eq(&row.event_id),
                        deliveries::session_id.eq(&row.session_id),
                        deliveries::project_id.eq(row.project_id),
                        deliveries::revision.eq(row.revision),
                        deliveries::request_id.eq(&row.request_id),
                        deliveries::payload.eq(row.payload.as_deref()),
                        deliveries::state.eq(row.state),
                        deliveries::attempts.eq(row.attempts),
                        deliveries::next_attempt_at.eq(row.next_attempt_at),
                        deliveries::give_up_at.eq(row.give_up_at),
                        deliveries::reason.eq(&row.reason),
                        deliveries::created_at.eq(row.created_at),
                        deliveries::settled_at.eq(row.settled_at),
                        deliveries::kind.eq(row.kind),
                    ))
                    .on_conflict(deliveries::event_id)
                    .do_nothing()
                    .execute(conn)?;
                new.extend((inserted == 1).then(|| row.event_id.clone()));
            }
            Ok(new)
        }
    }
}

/// Writes down that notifications were delivered at the first try, whether they were written down before or not, and gives
/// the ids of those that had not ended before. What people wrote is not written.
pub(in crate::chat) fn insert_delivered(
    db: &mut Db,
    rows: &[&NewDelivery],
    now: NaiveDateTime,
) -> QueryResult<HashSet<String>> {
    let conn = match db {
        _ if rows.is_empty() => return Ok(HashSet::new()),
        Db::Pg(conn) => conn,
        Db::Sqlite(_) => {
            let rows: Vec<NewDelivery> = rows.iter().copied().cloned().collect();
            insert_deliveries(db, &rows)?;
            let ids: Vec<&str> = rows.iter().map(|row| row.event_id.as_str()).collect();
            return settle(db, &ids, 1, Ending::Delivered, None, now);
        }
    };
    let new: Vec<String> = prepared::<Text>(
        "INSERT INTO deliveries (event_id, session_id, project_id, revision, request_id, kind, state, attempts, \
             next_attempt_at, give_up_at, created_at, settled_at) SELECT event_id, session_id, project_id, revision, \
             request_id, kind, 'delivered', 1, created_at, give_up_at, created_at, ",
    )
    .bind::<Timestamp, _>(now)
    .sql(" FROM unnest(")
    .bind::<Array<Text>, _>(column(rows, |row| row.event_id.as_str()))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.session_id.as_str()))
    .sql(", ")
    .bind::<Array<BigInt>, _>(column(rows, |row| row.project_id))
    .sql(", ")
    .bind::<Array<BigInt>, _>(column(rows, |row| row.revision))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.request_id.as_deref()))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.kind))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.give_up_at))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.created_at))
    .sql(
        ") AS new (event_id, session_id, project_id, revision, request_id, kind, give_up_at, created_at) \
         ON CONFLICT (event_id) DO UPDATE SET state = excluded.state, attempts = deliveries.attempts + 1, \
         payload = NULL, reason = NULL, settled_at = excluded.settled_at \
         WHERE deliveries.state IN ('pending', 'sending') RETURNING event_id",
    )
    .load(conn)?;
    Ok(new.into_iter().collect())
}

/// Those of these notifications that are written down, whatever became of them.
pub(in crate::chat) fn known_among(
    db: &mut Db,
    event_ids: &[&str],
) -> QueryResult<HashSet<String>> {
    let known: Vec<String> = match db {
        _ if event_ids.is_empty() => Vec::new(),
        // Each by itself in the order of the index: asked for all together while there are few rows yet, PostgreSQL reads
        // all there are, and goes on doing so until it next looks at how many there have become.
        Db::Pg(conn) => prepared::<Text>("SELECT wanted.event_id FROM unnest(")
            .bind::<Array<Text>, _>(event_ids)
            .sql(
                ") AS wanted (event_id) CROSS JOIN LATERAL (SELECT event_id FROM deliveries \
                 WHERE deliveries.event_id >= wanted.event_id ORDER BY deliveries.event_id LIMIT 1) AS next \
                 WHERE next.event_id = wanted.event_id",
            )
            .load(conn)?,
        Db::Sqlite(conn) => deliveries::table
            .filter(deliveries::event_id.eq_any(event_ids))
            .select(deliveries::event_id)
            .load(conn)?,
    };
    Ok(known.into_iter().collect())
}

/// As arrays: one value a column, however many rows, spares the server thousands of parameters.
fn insert_all(conn: &mut PgConnection, rows: &[NewDelivery]) -> QueryResult<HashSet<String>> {
    let new: Vec<String> = prepared::<Text>(
        "INSERT INTO deliveries (event_id, session_id, project_id, revision, request_id, payload, state, attempts, \
             next_attempt_at, give_up_at, reason, created_at, settled_at, kind) SELECT * FROM unnest(",
    )
    .bind::<Array<Text>, _>(column(rows, |row| row.event_id.as_str()))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.session_id.as_str()))
    .sql(", ")
    .bind::<Array<BigInt>, _>(column(rows, |row| row.project_id))
    .sql(", ")
    .bind::<Array<BigInt>, _>(column(rows, |row| row.revision))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.request_id.as_deref()))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.payload.as_deref()))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.state))
    .sql(", ")
    .bind::<Array<BigInt>, _>(column(rows, |row| row.attempts))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.next_attempt_at))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.give_up_at))
    .sql(", ")
    .bind::<Array<Nullable<Text>>, _>(column(rows, |row| row.reason.as_deref()))
    .sql(", ")
    .bind::<Array<Timestamp>, _>(column(rows, |row| row.created_at))
    .sql(", ")
    .bind::<Array<Nullable<Timestamp>>, _>(column(rows, |row| row.settled_at))
    .sql(", ")
    .bind::<Array<Text>, _>(column(rows, |row| row.kind))
    .sql(") ON CONFLICT (event_id) DO NOTHING RETURNING event_id")
    .load(conn)?;
    Ok(new.into_iter().collect())
}

fn column<'r, R, T>(rows: &'r [R], of: impl Fn(&'r R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}
