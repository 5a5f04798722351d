use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use super::Departure;
use crate::schema::{departures, notifications, session_flags};
use crate::sessions::{self, queries::Lock};
use db_kit::statement::{Statement, arguments};

/// Notes that somebody is gone; the eraser looks at once. Told again, it looks again.
pub(crate) fn note(db: &mut Db, gone: Departure, now: NaiveDateTime) -> QueryResult<()> {
    let row = (
        departures::kind.eq(gone.kind()),
        departures::id.eq(gone.id()),
        departures::noted_at.eq(now),
        departures::due_at.eq(now),
    );
    let again = (departures::noted_at.eq(now), departures::due_at.eq(now));
    on_backend!(db, conn => diesel::insert_into(departures::table)
        .values(row)
        .on_conflict((departures::kind, departures::id))
        .do_update()
        .set(again)
        .execute(conn))
    .map(drop)
}

/// Who is to be looked at now, longest due first.
pub(super) fn due(db: &mut Db, now: NaiveDateTime) -> QueryResult<Vec<Departure>> {
    let rows: Vec<(String, i64)> = departures::table
        .filter(departures::due_at.le(now))
        .order((departures::due_at, departures::kind, departures::id))
        .select((departures::kind, departures::id))
        .load(db)?;
    let read = |(kind, id): (String, i64)| Departure::read(&kind, id);
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Takes hold of a departure that is due until the transaction ends, and says when it was noted; none when
/// another process has it in hand or is through with it.
pub(super) fn hold(
    db: &mut Db,
    gone: Departure,
    now: NaiveDateTime,
) -> QueryResult<Option<NaiveDateTime>> {
    let due = departures::table
        .find((gone.kind(), gone.id()))
        .filter(departures::due_at.le(now))
        .select(departures::noted_at);
    match db {
        Db::Pg(conn) => due.for_update().skip_locked().first(conn).optional(),
        Db::Sqlite(conn) => due.first(conn).optional(),
    }
}

/// Sets when the departure is looked at again.
pub(super) fn postpone(db: &mut Db, gone: Departure, until: NaiveDateTime) -> QueryResult<usize> {
    diesel::update(departures::table.find((gone.kind(), gone.id())))
        .set(departures::due_at.eq(until))
        .execute(db)
}

/// Nothing is left to be done.
pub(super) fn close(db: &mut Db, gone: Departure) -> QueryResult<usize> {
    diesel::delete(departures::table.find((gone.kind(), gone.id()))).execute(db)
}

arguments! {
    struct SomeArguments {
        user_id: i64 as BigInt,
        limit: i64 as BigInt,
    }
}

macro_rules! delete_some {
    ($table:literal, $key:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE user_id = (SELECT p_user_id FROM a) AND ",
            $key,
            " IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE user_id = (SELECT p_user_id FROM a) LIMIT (SELECT p_limit FROM a))"
        )
    };
}

/// Keeps those away who write about many sessions, until the transaction ends. To be called before anything is locked
/// that they lock too.
pub(super) fn lock_deletion(db: &mut Db) -> QueryResult<()> {
    sessions::queries::lock_deletion(db, Lock::Exclusive)
}

/// After [`lock_deletion`]: deletes up to `limit` of the user's sessions, with what is kept about them, and says how many.
pub(super) fn delete_sessions(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    const TEXT: &str = concat!(
        delete_some!("sessions", "session_id"),
        " RETURNING session_id"
    );
    let arguments = SomeArguments {
        user_id: user.get(),
        limit,
    };
    let ids: Vec<String> = Statement::<_, Text>::new(|| TEXT, &arguments).load(db)?;
    if !ids.is_empty() {
        // Whoever writes these holds the session's row or has locked its deletion, so that none can be added now.
        diesel::delete(session_flags::table.filter(session_flags::session_id.eq_any(&ids)))
            .execute(db)?;
        diesel::delete(notifications::table.filter(notifications::session_id.eq_any(&ids)))
            .execute(db)?;
    }
    Ok(ids.len())
}

/// Every other table with a `user_id`, and the column that tells one user's rows apart. Webhooks are not
/// among them: the notifier is told of each.
const OWNED: [&str; 14] = [
    delete_some!("user_month", "month"),
    delete_some!("board", "start"),
    delete_some!("user_totals", "user_id"),
    delete_some!("user_day", "day"),
    delete_some!("user_hour", "hour"),
    delete_some!("user_category", "category"),
    delete_some!("user_badges", "badge"),
    delete_some!("user_settings", "user_id"),
    delete_some!("projects", "id"),
    delete_some!("user_sync", "user_id"),
    delete_some!("webhook_deliveries", "delivery_id"),
    delete_some!("hook_contacts", "hook"),
    // Those of teams stay, paused.
    "UPDATE webhooks SET created_by = NULL WHERE created_by = (SELECT p_user_id FROM a)",
    "UPDATE chat_integrations SET created_by = NULL WHERE created_by = (SELECT p_user_id FROM a)",
];

/// Deletes up to `limit` rows of everything else that is the user's, and says how many. Only once there
/// are no sessions left: then no submit can add to the rollups any more.
pub(super) fn delete_owned(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    let mut deleted = 0;
    for text in OWNED {
        let room = limit - i64::try_from(deleted).unwrap_or(i64::MAX);
        if room <= 0 {
            break;
        }
        let arguments = SomeArguments {
            user_id: user.get(),
            limit: room,
        };
        deleted += Statement::<_, ()>::new(text, &arguments).execute(db)?;
    }
    Ok(deleted)
}

arguments! {
    struct EventsArguments {
        session: String as Text,
        call: String as Text,
        limit: i64 as BigInt,
    }
}

/// Deletes up to `limit` events about the user's sessions, and calls of webhooks, that have not gone out, and says how many: those
/// that no queue wanted would stay for good, and nobody is to be told of the others any more.
pub(super) fn delete_events(db: &mut Db, user: UserId, limit: i64) -> QueryResult<usize> {
    const TEXT: &str = "DELETE FROM outbox WHERE id IN (SELECT id FROM a JOIN outbox \
        ON (routing_key LIKE 'session.%' AND body LIKE p_session) \
        OR (routing_key = 'webhook.due.v1' AND body LIKE p_call) LIMIT (SELECT p_limit FROM a))";
    let arguments = EventsArguments {
        // As `SessionUser` and `WebhookDue` are written. No text of a user's reads so inside JSON: its quotes are escaped.
        session: format!("%\"user\":{{\"id\":{user},%"),
        call: format!("%\"user_id\":{user},%"),
        limit,
    };
    Statement::<_, ()>::new(|| TEXT, &arguments).execute(db)
}
