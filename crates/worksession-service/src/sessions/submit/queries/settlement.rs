use std::collections::HashSet;

use chrono::{NaiveDate, NaiveDateTime};
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Date, Integer, Nullable, Text, Timestamp};

use crate::sync;
use db_kit::statement::{Statement, arguments};

arguments! {
    many Settlements,
    /// All that a submit writes.
    pub(in crate::sessions::submit) struct Settlement {
        session_id: String as Text,
        user_id: i64 as BigInt,
        /// The session as it was read: anything else is not settled.
        seen_status: String as Text,
        seen_ended_at: Option<NaiveDateTime> as Nullable<Timestamp>,
        seen_seq: i64 as BigInt,
        status: String as Text,
        ended_at: NaiveDateTime as Timestamp,
        submitted_at: NaiveDateTime as Timestamp,
        start_time: NaiveDateTime as Timestamp,
        end_time: NaiveDateTime as Timestamp,
        credited_minutes: i32 as Integer,
        points: i64 as BigInt,
        note: String as Text,
        quality_rating: Option<i32> as Nullable<Integer>,
        tags: String as Text,
        submit_digest: String as Text,
        submit_result: String as Text,
        /// The totals' version after this submit.
        version: i64 as BigInt,
        completed: i64 as BigInt,
        streak_run: i32 as Integer,
        streak_longest: i32 as Integer,
        streak_last_day: Option<NaiveDate> as Nullable<Date>,
        streak_last_start: Option<NaiveDateTime> as Nullable<Timestamp>,
        streak_last_offset: Option<i32> as Nullable<Integer>,
        best_hour: i32 as Integer,
        best_hour_minutes: i64 as BigInt,
        favorite_category: String as Text,
        favorite_category_minutes: i64 as BigInt,
        day: NaiveDate as Date,
        utc_offset: i32 as Integer,
        first_start: NaiveDateTime as Timestamp,
        first_offset: i32 as Integer,
        last_start: NaiveDateTime as Timestamp,
        last_offset: i32 as Integer,
        hour: i32 as Integer,
        category: String as Text,
        /// Names, separated by commas.
        badges: String as Text,
        /// `kind:severity:amount`, separated by commas.
        flags: String as Text,
        by_hour: String as Text,
        by_category: String as Text,
        by_project: String as Text,
        own_month: NaiveDate as Date,
        month_by_day: String as Text,
        month_by_hour: String as Text,
        month_by_category: String as Text,
        month_by_project: String as Text,
        on_boards: bool as Bool,
        username: String as Text,
        team_id: Option<i64> as Nullable<BigInt>,
        utc_day: NaiveDate as Date,
        utc_week: NaiveDate as Date,
        utc_month: NaiveDate as Date,
        /// The start of the period that never ends.
        board_epoch: NaiveDate as Date,
        event_id: String as Text,
        event_exchange: String as Text,
        event_type: String as Text,
        event_body: String as Text,
        /// Whether it waits while somebody else holds what is the user's.
        patient: bool as Bool,
    }
}

/// What a submit writes into a session.
macro_rules! settled_columns {
    () => {
        "(status, ended_at, local_day, utc_offset, submitted_at, start_time, end_time, credited_minutes, points_centi, note, \
          quality_rating, tags, submit_digest, submit_result, on_boards, changed_at, seq)"
    };
}

/// The values of [`settled_columns!`].
macro_rules! settled_values {
    ($seq:literal) => {
        concat!(
            "p_status, p_ended_at, p_day, p_utc_offset, p_submitted_at, p_start_time, p_end_time, p_credited_minutes, p_points, \
              p_note, p_quality_rating, p_tags, p_submit_digest, p_submit_result, p_on_boards, p_submitted_at, ",
            $seq
        )
    };
}

/// Applied only to the state that it was computed from.
macro_rules! upsert_totals {
    ($from:literal) => {
        concat!(
            "INSERT INTO user_totals AS t (user_id, version, points_centi, sessions, completed_sessions, minutes, \
              streak_run, streak_longest, streak_last_day, streak_last_start, streak_last_offset, \
              best_hour, best_hour_minutes, favorite_category, favorite_category_minutes) \
             SELECT p_user_id, p_version, p_points, 1, p_completed, p_credited_minutes, \
              p_streak_run, p_streak_longest, p_streak_last_day, p_streak_last_start, p_streak_last_offset, \
              p_best_hour, p_best_hour_minutes, p_favorite_category, p_favorite_category_minutes ",
            $from,
            " ON CONFLICT (user_id) DO UPDATE SET version = excluded.version, \
              points_centi = t.points_centi + excluded.points_centi, sessions = t.sessions + excluded.sessions, \
              completed_sessions = t.completed_sessions + excluded.completed_sessions, \
              minutes = t.minutes + excluded.minutes, streak_run = excluded.streak_run, \
              streak_longest = excluded.streak_longest, streak_last_day = excluded.streak_last_day, \
              streak_last_start = excluded.streak_last_start, streak_last_offset = excluded.streak_last_offset, \
              best_hour = excluded.best_hour, best_hour_minutes = excluded.best_hour_minutes, \
              favorite_category = excluded.favorite_category, \
              favorite_category_minutes = excluded.favorite_category_minutes \
             WHERE t.version = excluded.version - 1"
        )
    };
}

macro_rules! upsert_day {
    ($from:literal) => {
        concat!(
            "INSERT INTO user_day AS t (user_id, day, sessions, minutes, points_centi, first_start, first_offset, \
              last_start, last_offset, by_hour, by_category, by_project) \
             SELECT p_user_id, p_day, 1, p_credited_minutes, p_points, p_first_start, p_first_offset, \
              p_last_start, p_last_offset, p_by_hour, p_by_category, p_by_project ",
            $from,
            " ON CONFLICT (user_id, day) DO UPDATE SET sessions = t.sessions + 1, \
              minutes = t.minutes + excluded.minutes, points_centi = t.points_centi + excluded.points_centi, \
              first_start = excluded.first_start, first_offset = excluded.first_offset, \
              last_start = excluded.last_start, last_offset = excluded.last_offset, by_hour = excluded.by_hour, \
              by_category = excluded.by_category, by_project = excluded.by_project"
        )
    };
}

macro_rules! upsert_month {
    ($from:literal) => {
        concat!(
            "INSERT INTO user_month AS t (user_id, month, by_day, by_hour, by_category, by_project) \
             SELECT p_user_id, p_own_month, p_month_by_day, p_month_by_hour, p_month_by_category, p_month_by_project ",
            $from,
            " ON CONFLICT (user_id, month) DO UPDATE SET by_day = excluded.by_day, by_hour = excluded.by_hour, \
              by_category = excluded.by_category, by_project = excluded.by_project"
        )
    };
}

macro_rules! upsert_hour {
    ($from:literal) => {
        concat!(
            "INSERT INTO user_hour AS t (user_id, hour, minutes) SELECT p_user_id, p_hour, p_credited_minutes ",
            $from,
            " ON CONFLICT (user_id, hour) DO UPDATE SET minutes = t.minutes + excluded.minutes"
        )
    };
}

macro_rules! upsert_category {
    ($from:literal) => {
        concat!(
            "INSERT INTO user_category AS t (user_id, category, minutes) \
             SELECT p_user_id, p_category, p_credited_minutes ",
            $from,
            " ON CONFLICT (user_id, category) DO UPDATE SET minutes = t.minutes + excluded.minutes"
        )
    };
}

/// Onto which boards, and for which periods: of [`upsert_boards!`].
macro_rules! boards {
    (pg) => {
        " CROSS JOIN LATERAL (VALUES (0, true), (p_team_id, p_team_id IS NOT NULL \
          AND NOT coalesce((SELECT deleted FROM teams g WHERE g.team_id = p_team_id), false))) AS scopes (scope, counts) \
          CROSS JOIN LATERAL (VALUES ('day', p_utc_day), ('week', p_utc_week), ('month', p_utc_month), \
           ('all', p_board_epoch)) AS periods (period, start) WHERE p_on_boards AND counts"
    };
    // First of all, so that SQLite need not write them into a table of its own.
    (sqlite) => {
        "(SELECT false AS of_team, 'day' AS period UNION ALL SELECT false, 'week' UNION ALL SELECT false, 'month' \
          UNION ALL SELECT false, 'all' UNION ALL SELECT true, 'day' UNION ALL SELECT true, 'week' \
          UNION ALL SELECT true, 'month' UNION ALL SELECT true, 'all') AS kinds CROSS JOIN a \
          WHERE p_on_boards AND (NOT of_team OR (p_team_id IS NOT NULL \
          AND NOT coalesce((SELECT deleted FROM teams g WHERE g.team_id = p_team_id), false)))"
    };
}

macro_rules! upsert_boards {
    ($board:literal, $from:literal, $boards:tt) => {
        concat!(
            "INSERT INTO board AS t (scope, period, start, user_id, username, points_centi, minutes, sessions, reached_at) \
             SELECT ",
            $board,
            ", p_user_id, p_username, p_points, p_credited_minutes, 1, p_submitted_at ",
            $from,
            boards!($boards),
            " ON CONFLICT (scope, period, start, user_id) DO UPDATE SET username = excluded.username, \
              points_centi = t.points_centi + excluded.points_centi, minutes = t.minutes + excluded.minutes, \
              sessions = t.sessions + 1, reached_at = CASE WHEN excluded.points_centi > 0 AND \
               (t.points_centi = 0 OR excluded.reached_at > t.reached_at) THEN excluded.reached_at \
               WHEN excluded.points_centi = 0 AND t.points_centi = 0 AND excluded.reached_at < t.reached_at \
               THEN excluded.reached_at ELSE t.reached_at END"
        )
    };
}

macro_rules! queue_event {
    ($from:literal) => {
        concat!(
            "INSERT INTO outbox (id, exchange, routing_key, body, created_at, state) \
             SELECT p_event_id, p_event_exchange, p_event_type, p_event_body, p_submitted_at, 'pending' ",
            $from
        )
    };
}

macro_rules! bump {
    ($of:literal) => {
        concat!(
            "INSERT INTO user_sync AS u (user_id, seq) SELECT p_user_id, 1 FROM a WHERE ",
            $of,
            " ON CONFLICT (user_id) DO UPDATE SET seq = u.seq + 1"
        )
    };
}

/// That the session is still what was settled.
macro_rules! as_seen {
    () => {
        "submitted_at IS NULL AND status = p_seen_status AND ended_at IS NOT DISTINCT FROM p_seen_ended_at \
         AND sessions.seq = p_seen_seq"
    };
}

/// For several users at once. The change number is taken first, and with it the lock of all that is the user's: by all in one
/// order, and of those only whom nobody else holds, unless they are patient, so that the others do not wait with them. The
/// session's row is locked as it was seen, then the totals move if they still stand where they were read; only then is
/// anything else written. Otherwise nothing is.
macro_rules! settle {
    ($($earned:tt)*) => { concat!(
    sync::free!(),
    ", open AS (SELECT session_id FROM sessions WHERE session_id = ANY (ARRAY(SELECT p_session_id FROM a)) \
      AND submitted_at IS NULL), bump AS (",
    bump!(
        "p_session_id IN (SELECT session_id FROM open) AND (p_patient OR p_user_id IN (SELECT user_id FROM free)) ORDER BY p_user_id"
    ),
    " RETURNING user_id, seq), \
     held AS (SELECT p_user_id AS holder FROM a JOIN bump ON bump.user_id = p_user_id \
      JOIN sessions ON session_id = p_session_id AND session_id = ANY (ARRAY(SELECT p_session_id FROM a)) WHERE ",
    as_seen!(),
    " FOR UPDATE OF sessions), \
     won AS (",
    upsert_totals!("FROM a JOIN held ON holder = p_user_id"),
    " RETURNING t.user_id AS winner), \
     settled AS (SELECT a.* FROM a JOIN won ON winner = p_user_id), \
     done AS (",
    "UPDATE sessions SET ",
    settled_columns!(),
    " = ROW (",
    settled_values!("bump.seq"),
    ") FROM settled JOIN bump ON bump.user_id = p_user_id WHERE session_id = p_session_id \
      AND session_id = ANY (ARRAY(SELECT p_session_id FROM a)) RETURNING session_id), \
     days AS (",
    upsert_day!("FROM settled"),
    "), \
     months AS (",
    upsert_month!("FROM settled"),
    "), \
     hours AS (",
    upsert_hour!("FROM settled"),
    "), \
     categories AS (",
    upsert_category!("FROM settled"),
    "), \
     boards AS (",
    upsert_boards!("scope, period, start", "FROM settled", pg),
    ")",
    $($earned)*
    ", queued AS (",
    queue_event!("FROM settled"),
    ") SELECT session_id FROM done"
    ) };
}

/// Submits of which none earned a badge or a flag, as most: opening these tables costs as much as opening any other.
const SETTLE: &str = settle!();
/// Submits of which some did.
const SETTLE_EARNED: &str = settle!(
    ", badges AS (INSERT INTO user_badges (user_id, badge, earned_at) SELECT p_user_id, name, p_submitted_at \
      FROM settled CROSS JOIN LATERAL unnest(string_to_array(p_badges, ',')) AS name \
      ON CONFLICT DO NOTHING), \
     flags AS (INSERT INTO session_flags (session_id, user_id, kind, severity, amount, created_at) \
      SELECT p_session_id, p_user_id, split_part(flag, ':', 1), split_part(flag, ':', 2), \
       CAST(split_part(flag, ':', 3) AS BIGINT), p_submitted_at \
      FROM settled CROSS JOIN LATERAL unnest(string_to_array(p_flags, ',')) AS flag)",
);

/// One submit at a time, with the texts above.
mod alone;

/// Writes submits of different users, each once. False for one whose session or totals are no longer what they were when
/// they were read, or whose user another transaction holds, unless it is patient: read them again. On SQLite they were read in
/// the same write transaction: nothing can have changed in between.
pub(in crate::sessions::submit) fn settle(
    db: &mut Db,
    settlements: &[Settlement],
) -> QueryResult<Vec<bool>> {
    match db {
        Db::Pg(conn) => {
            let rows = Settlements::of(settlements);
            let earns = |of: &Settlement| !(of.badges.is_empty() && of.flags.is_empty());
            let text = match settlements.iter().any(earns) {
                true => SETTLE_EARNED,
                false => SETTLE,
            };
            let done: Vec<String> = Statement::<_, Text>::new(text, &rows).load(conn)?;
            let done: HashSet<String> = done.into_iter().collect();
            Ok(settlements
                .iter()
                .map(|of| done.contains(&of.session_id))
                .collect())
        }
        Db::Sqlite(conn) => settlements
            .iter()
            .map(|of| alone::settle(conn, of))
            .collect(),
    }
}
