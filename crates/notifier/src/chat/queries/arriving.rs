//! Notifications that are written down for the first time.

use std::collections::HashSet;

use db_kit::{Db, prepared};
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamp};

use crate::chat::model::NewDelivery;
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
