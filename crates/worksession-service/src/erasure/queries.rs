use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::Erasure;
use crate::schema::{
    chat_integrations as chats, departures, notifications, session_flags, webhooks,
};

/// Records a deletion, which is due at once. Recording it again makes it due again.
pub(crate) fn record(db: &mut Db, erasure: Erasure, now: NaiveDateTime) -> QueryResult<()> {
    let (kind, id) = erasure.key();
    let row = (
        departures::kind.eq(kind),
        departures::id.eq(id),
        departures::noted_at.eq(now),
        departures::due_at.eq(now),
    );
    let renewed = (departures::noted_at.eq(now), departures::due_at.eq(now));
    on_backend!(db, conn => diesel::insert_into(departures::table)
        .values(row)
        .on_conflict((departures::kind, departures::id))
        .do_update()
        .set(renewed)
        .execute(conn))
    .map(drop)
}

/// Lists the erasures that are due, longest due first.
pub(super) fn list_due(db: &mut Db, now: NaiveDateTime) -> QueryResult<Vec<Erasure>> {
    let rows: Vec<(String, i64)> = departures::table
        .filter(departures::due_at.le(now))
        .order((departures::due_at, departures::kind, departures::id))
        .select((departures::kind, departures::id))
        .load(db)?;
    let decode = |(kind, id): (String, i64)| Erasure::from_columns(&kind, id);
    Ok(rows.into_iter().filter_map(decode).collect())
}

/// Locks a due erasure until the transaction ends, and returns when it was recorded; none if another process has locked
/// or finished it.
pub(super) fn lock_due(
    db: &mut Db,
    erasure: Erasure,
    now: NaiveDateTime,
) -> QueryResult<Option<NaiveDateTime>> {
    let due = departures::table
        .find(erasure.key())
        .filter(departures::due_at.le(now))
        .select(departures::noted_at);
    match db {
        Db::Pg(conn) => due.for_update().skip_locked().first(conn).optional(),
        Db::Sqlite(conn) => due.first(conn).optional(),
    }
}

/// Sets when the erasure is due again.
pub(super) fn postpone(db: &mut Db, erasure: Erasure, until: NaiveDateTime) -> QueryResult<usize> {
    diesel::update(departures::table.find(erasure.key()))
        .set(departures::due_at.eq(until))
        .execute(db)
}

/// Deletes the record of an erasure that is complete.
pub(super) fn delete(db: &mut Db, erasure: Erasure) -> QueryResult<usize> {
    diesel::delete(departures::table.find(erasure.key())).execute(db)
}

/// Deletes up to `limit` of the user's sessions, with their flags and notifications, and returns their number. The caller
/// holds [`lock_deletion`](crate::sessions::queries::lock_deletion).
pub(super) fn delete_sessions(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    let delete = statement::<Text>(
        "DELETE FROM sessions WHERE session_id IN (SELECT session_id FROM sessions WHERE user_id = $1 LIMIT $2) \
         RETURNING session_id",
    )
    .bind::<BigInt, _>(user)
    .bind::<BigInt, _>(limit);
    let ids: Vec<String> = delete.load(db)?;
    if !ids.is_empty() {
        // Writers of these rows lock the session's row or its deletion, so no more can be added now.
        diesel::delete(session_flags::table.filter(session_flags::session_id.eq_any(&ids)))
            .execute(db)?;
        diesel::delete(notifications::table.filter(notifications::session_id.eq_any(&ids)))
            .execute(db)?;
    }
    Ok(ids.len())
}

/// The deletion of each other table with a `user_id`, by the column that distinguishes a user's rows. Webhooks are not
/// included, because the notifier must receive an event about each.
const DELETE_OWNED: [&str; 12] = [
    "DELETE FROM user_month WHERE user_id = $1 AND month IN (SELECT month FROM user_month WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM board WHERE user_id = $1 AND start IN (SELECT start FROM board WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_totals WHERE user_id = $1 AND user_id IN (SELECT user_id FROM user_totals WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_day WHERE user_id = $1 AND day IN (SELECT day FROM user_day WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_hour WHERE user_id = $1 AND hour IN (SELECT hour FROM user_hour WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_category WHERE user_id = $1 AND category IN (SELECT category FROM user_category WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_badges WHERE user_id = $1 AND badge IN (SELECT badge FROM user_badges WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_settings WHERE user_id = $1 AND user_id IN (SELECT user_id FROM user_settings WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM projects WHERE user_id = $1 AND id IN (SELECT id FROM projects WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM user_sync WHERE user_id = $1 AND user_id IN (SELECT user_id FROM user_sync WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM webhook_deliveries WHERE user_id = $1 AND delivery_id IN (SELECT delivery_id FROM webhook_deliveries WHERE user_id = $1 LIMIT $2)",
    "DELETE FROM hook_contacts WHERE user_id = $1 AND hook IN (SELECT hook FROM hook_contacts WHERE user_id = $1 LIMIT $2)",
];

/// Deletes up to `limit` of the user's other rows, and returns their number. Call it only when no sessions are left, so
/// that no submit can add to the rollups any more.
pub(super) fn delete_owned(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    let mut deleted = 0;
    for text in DELETE_OWNED {
        let remaining = limit - i64::try_from(deleted).unwrap_or(i64::MAX);
        if remaining <= 0 {
            break;
        }
        let delete = statement::<()>(text)
            .bind::<BigInt, _>(user)
            .bind::<BigInt, _>(remaining);
        deleted += delete.execute(db)?;
    }
    // Integrations of teams stay, paused.
    deleted += diesel::update(webhooks::table.filter(webhooks::created_by.eq(user.get())))
        .set(webhooks::created_by.eq(None::<i64>))
        .execute(db)?;
    deleted += diesel::update(chats::table.filter(chats::created_by.eq(user.get())))
        .set(chats::created_by.eq(None::<i64>))
        .execute(db)?;
    Ok(deleted)
}

/// Deletes up to `limit` unpublished events about the user's sessions and webhook deliveries, and returns their number.
/// Unroutable events would stay forever, and nobody must receive the others any more.
pub(super) fn delete_events(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    // The JSON of `SessionUser` and `WebhookDue`. No text of a user matches it, because JSON escapes quotes in texts.
    let (session, call) = (
        format!("%\"user\":{{\"id\":{user},%"),
        format!("%\"user_id\":{user},%"),
    );
    statement::<()>(
        "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox \
         WHERE (routing_key LIKE 'session.%' AND body LIKE $1) \
         OR (routing_key = 'webhook.due.v1' AND body LIKE $2) LIMIT $3)",
    )
    .bind::<Text, _>(session)
    .bind::<Text, _>(call)
    .bind::<BigInt, _>(limit)
    .execute(db)
}
