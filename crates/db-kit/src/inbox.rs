//! The events that each consumer has processed. A row is written in the transaction of the event's effect.

use std::collections::{BTreeSet, HashSet};

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamp};
use uuid::Uuid;

use crate::schema::inbox;
use crate::{Db, on_backend, statement};

/// Records an event for a consumer. Returns false if it was recorded before and must not take effect again.
///
/// # Errors
/// Any database error; the caller must roll back.
pub fn record(
    db: &mut Db,
    consumer: &str,
    event_id: Uuid,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let row = (
        inbox::consumer.eq(consumer),
        inbox::event_id.eq(event_id.to_string()),
        inbox::received_at.eq(now),
    );
    let inserted = on_backend!(db, conn => diesel::insert_into(inbox::table).values(row).on_conflict_do_nothing().execute(conn))?;
    Ok(inserted == 1)
}

/// Records events for a consumer and returns those that are new. Call it first in the transaction: of two processes that consume
/// the same events, one waits for the other, because both insert them in the order of their ids.
///
/// # Errors
/// Any database error; the caller must roll back.
pub fn record_all(
    db: &mut Db,
    consumer: &str,
    event_ids: impl IntoIterator<Item = Uuid>,
    now: NaiveDateTime,
) -> QueryResult<HashSet<Uuid>> {
    let event_ids: BTreeSet<Uuid> = event_ids.into_iter().collect();
    match db {
        Db::Pg(conn) if event_ids.len() > 1 => {
            let ids: Vec<String> = event_ids.iter().map(Uuid::to_string).collect();
            let insert = statement::<Text>(
                "INSERT INTO inbox (consumer, event_id, received_at) SELECT $1, event_id, $2 \
                 FROM unnest($3) AS event_id ON CONFLICT DO NOTHING RETURNING event_id",
            )
            .bind::<Text, _>(consumer)
            .bind::<Timestamp, _>(now)
            .bind::<Array<Text>, _>(ids);
            let inserted: Vec<String> = insert.load(conn)?;
            let ids = inserted.iter().map(|id| id.parse());
            Ok(ids.filter_map(Result::ok).collect())
        }
        _ => {
            let mut recorded = HashSet::new();
            for id in event_ids {
                if record(db, consumer, id, now)? {
                    recorded.insert(id);
                }
            }
            Ok(recorded)
        }
    }
}

/// Returns when the oldest recorded event was received.
///
/// # Errors
/// Any database error.
pub fn oldest(db: &mut Db) -> QueryResult<Option<NaiveDateTime>> {
    inbox::table
        .select(diesel::dsl::min(inbox::received_at))
        .first(db)
}

/// Deletes up to `most` rows that were received before `until`, and returns their number. The broker does not redeliver events
/// that old.
///
/// # Errors
/// Any database error.
pub fn delete_before(db: &mut Db, until: NaiveDateTime, most: i64) -> QueryResult<usize> {
    // Not a `statement`: a plan that PostgreSQL keeps for any limit would read all of a large table.
    diesel::sql_query(
        "DELETE FROM inbox WHERE (consumer, event_id) IN \
         (SELECT consumer, event_id FROM inbox WHERE received_at < $1 ORDER BY received_at LIMIT $2)",
    )
    .bind::<Timestamp, _>(until)
    .bind::<BigInt, _>(most)
    .execute(db)
}
