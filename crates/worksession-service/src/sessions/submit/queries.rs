use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::outbox::{self, NewOutboxRow};
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Integer, Nullable, Text, Timestamp};
use diesel::sqlite::SqliteConnection;

use super::facts::{FACTS, Facts, FactsArguments, FactsSql, near};
use crate::rules::integrity::{Sign, Work};
use crate::rules::streaks::{DAY_COUNTS_FROM, Day, Mark};
use crate::schema::{user_badges, user_day};
use crate::sessions::model::{NewFlag, SessionRow, SessionSql, Status, session_columns};
use crate::sessions::queries::insert_flag;
use crate::statement::{Statement, arguments};

arguments! {
    /// Which sessions a submit may be about.
    pub(super) struct Candidates {
        user_id: i64 as BigInt,
        session_id: Option<String> as Nullable<Text>,
        submit_digest: String as Text,
        /// Sessions whose planned end is later than this are open.
        open_after: NaiveDateTime as Timestamp,
    }
}

/// The user's time zone as it is now, for the periods in the answer.
macro_rules! zone_now {
    () => {
        ", COALESCE((SELECT timezone FROM user_settings WHERE user_id = p_user_id), 'UTC')"
    };
}

/// The named session, or the open ones and those that the same submit closed, each with the user's zone.
pub(super) fn candidates(db: &mut Db, of: &Candidates) -> QueryResult<Vec<(SessionRow, String)>> {
    const NAMED: &str = concat!(
        "SELECT ",
        session_columns!(),
        zone_now!(),
        " FROM a JOIN sessions ON session_id = p_session_id AND user_id = p_user_id"
    );
    const UNNAMED: &str = concat!(
        "SELECT ",
        session_columns!(),
        zone_now!(),
        " FROM a JOIN sessions ON user_id = (SELECT p_user_id FROM a) \
         WHERE status IN ('running', 'awaiting_submit') AND expected_end_at > p_open_after \
         UNION ALL SELECT ",
        session_columns!(),
        zone_now!(),
        " FROM a JOIN sessions ON user_id = (SELECT p_user_id FROM a) \
         WHERE submit_digest = p_submit_digest"
    );
    let text = if of.session_id.is_some() {
        NAMED
    } else {
        UNNAMED
    };
    on_backend!(db, conn => Statement::<_, (SessionSql, Text)>::new(text, of).load(conn))
}

/// What the submit is settled by.
pub(super) fn facts(db: &mut Db, of: &FactsArguments) -> QueryResult<Facts> {
    on_backend!(db, conn => Statement::<_, FactsSql>::new(FACTS, of).get_result(conn))
}

/// All counted days of the user in order; read only when a submit comes out of order.
pub(super) fn counted_days(db: &mut Db, user: UserId) -> QueryResult<Vec<Day>> {
    type Row = (NaiveDate, NaiveDateTime, i32, NaiveDateTime, i32);
    let rows = user_day::table
        .filter(
            user_day::user_id
                .eq(user)
                .and(user_day::minutes.ge(DAY_COUNTS_FROM)),
        )
        .order(user_day::day)
        .select((
            user_day::day,
            user_day::first_start,
            user_day::first_offset,
            user_day::last_start,
            user_day::last_offset,
        ))
        .load::<Row>(db)?;
    let day = |(date, first, first_offset, last, last_offset): Row| Day {
        date,
        first: Mark {
            at: first,
            offset: first_offset,
        },
        last: Mark {
            at: last,
            offset: last_offset,
        },
    };
    Ok(rows.into_iter().map(day).collect())
}

/// The credited time of other sessions that may lie in 24 hours together with one that started at `started_at`.
pub(super) fn work_near(
    db: &mut Db,
    user: UserId,
    started_at: NaiveDateTime,
) -> QueryResult<Vec<Work>> {
    use crate::schema::sessions::dsl;
    let (from, to) = near(started_at);
    let rows = dsl::sessions
        .filter(
            dsl::user_id
                .eq(user)
                .and(dsl::started_at.gt(from))
                .and(dsl::started_at.lt(to))
                .and(dsl::credited_minutes.gt(0)),
        )
        .select((dsl::started_at, dsl::credited_minutes))
        .load::<(NaiveDateTime, i32)>(db)?;
    Ok(rows
        .into_iter()
        .map(|(started_at, minutes)| Work::new(started_at, minutes))
        .collect())
}

arguments! {
    /// All that a submit writes.
    pub(super) struct Settlement {
        session_id: String as Text,
        user_id: i64 as BigInt,
        /// The session as it was read: anything else is not settled.
        seen_status: String as Text,
        seen_ended_at: Option<NaiveDateTime> as Nullable<Timestamp>,
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
        /// `kind:severity`, separated by commas.
        flags: String as Text,
        event_id: String as Text,
        event_exchange: String as Text,
        event_type: String as Text,
        event_body: String as Text,
    }
}

macro_rules! update_session {
    ($from:literal) => {
        concat!(
            "UPDATE sessions SET status = p_status, ended_at = p_ended_at, local_day = p_day, \
              utc_offset = p_utc_offset, submitted_at = p_submitted_at, start_time = p_start_time, \
              end_time = p_end_time, credited_minutes = p_credited_minutes, points_centi = p_points, note = p_note, \
              quality_rating = p_quality_rating, tags = p_tags, submit_digest = p_submit_digest, \
              submit_result = p_submit_result ",
            $from,
            " WHERE session_id = p_session_id"
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
              last_start, last_offset) \
             SELECT p_user_id, p_day, 1, p_credited_minutes, p_points, p_first_start, p_first_offset, \
              p_last_start, p_last_offset ",
            $from,
            " ON CONFLICT (user_id, day) DO UPDATE SET sessions = t.sessions + 1, \
              minutes = t.minutes + excluded.minutes, points_centi = t.points_centi + excluded.points_centi, \
              first_start = excluded.first_start, first_offset = excluded.first_offset, \
              last_start = excluded.last_start, last_offset = excluded.last_offset"
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

/// The session's row is locked as it was seen, then the totals move if they still stand where they
/// were read; only then is anything else written. Otherwise nothing is.
const SETTLE_PG: &str = concat!(
    ", held AS (SELECT session_id FROM a JOIN sessions ON session_id = p_session_id WHERE submitted_at IS NULL \
      AND status = p_seen_status AND ended_at IS NOT DISTINCT FROM p_seen_ended_at FOR UPDATE OF sessions), \
     won AS (",
    upsert_totals!("FROM a JOIN held ON true"),
    " RETURNING t.user_id), \
     done AS (",
    update_session!("FROM a JOIN won ON true"),
    " RETURNING session_id), \
     days AS (",
    upsert_day!("FROM a JOIN won ON true"),
    "), \
     hours AS (",
    upsert_hour!("FROM a JOIN won ON true"),
    "), \
     categories AS (",
    upsert_category!("FROM a JOIN won ON true"),
    "), \
     badges AS (INSERT INTO user_badges (user_id, badge, earned_at) SELECT p_user_id, name, p_submitted_at \
      FROM a JOIN won ON true CROSS JOIN LATERAL unnest(string_to_array(p_badges, ',')) AS name \
      ON CONFLICT DO NOTHING), \
     flags AS (INSERT INTO session_flags (session_id, user_id, kind, severity, created_at) \
      SELECT p_session_id, p_user_id, split_part(flag, ':', 1), split_part(flag, ':', 2), p_submitted_at \
      FROM a JOIN won ON true CROSS JOIN LATERAL unnest(string_to_array(p_flags, ',')) AS flag), \
     queued AS (INSERT INTO outbox (id, exchange, routing_key, body, created_at, state, available_at, attempts) \
      SELECT p_event_id, p_event_exchange, p_event_type, p_event_body, p_submitted_at, 'pending', p_submitted_at, 0 \
      FROM a JOIN won ON true) \
     SELECT count(*) FROM done"
);

/// Writes the submit, once; false when the session or the totals are no longer what they were when
/// they were read: read them again.
pub(super) fn settle(
    db: &mut Db,
    settlement: &Settlement,
    signs: &[Sign],
    event: &NewOutboxRow,
) -> QueryResult<bool> {
    match db {
        Db::Pg(conn) => {
            let done =
                Statement::<_, BigInt>::new(SETTLE_PG, settlement).get_result::<i64>(conn)?;
            Ok(done == 1)
        }
        Db::Sqlite(conn) => {
            // Read and written in one write transaction: nothing can have changed in between.
            for text in [
                update_session!("FROM a"),
                upsert_totals!("FROM a WHERE true"),
                upsert_day!("FROM a WHERE true"),
                upsert_hour!("FROM a WHERE true"),
                upsert_category!("FROM a WHERE true"),
            ] {
                Statement::<_, ()>::new(text, settlement).execute(conn)?;
            }
            insert_badges(conn, settlement)?;
            for sign in signs {
                insert_flag(
                    db,
                    &NewFlag::new(
                        &settlement.session_id,
                        settlement.user_id,
                        *sign,
                        settlement.submitted_at,
                    ),
                )?;
            }
            outbox::insert(db, event)?;
            Ok(true)
        }
    }
}

fn insert_badges(conn: &mut SqliteConnection, settlement: &Settlement) -> QueryResult<()> {
    for badge in settlement.badges.split(',').filter(|name| !name.is_empty()) {
        diesel::insert_into(user_badges::table)
            .values((
                user_badges::user_id.eq(settlement.user_id),
                user_badges::badge.eq(badge),
                user_badges::earned_at.eq(settlement.submitted_at),
            ))
            .on_conflict_do_nothing()
            .execute(conn)?;
    }
    Ok(())
}

/// A submit that came too late for credit.
#[derive(Debug, AsChangeset)]
#[diesel(table_name = crate::schema::sessions)]
pub(super) struct LateSubmit {
    pub(super) status: &'static str,
    pub(super) ended_at: NaiveDateTime,
    pub(super) submitted_at: NaiveDateTime,
    pub(super) start_time: NaiveDateTime,
    pub(super) end_time: NaiveDateTime,
    pub(super) note: String,
    pub(super) quality_rating: Option<i32>,
    pub(super) tags: String,
    pub(super) submit_digest: String,
    pub(super) submit_result: String,
}

/// Keeps a late submit, once; false when another one came first.
pub(super) fn settle_late(
    db: &mut Db,
    session_id: &str,
    seen: Status,
    late: &LateSubmit,
) -> QueryResult<bool> {
    use crate::schema::sessions::dsl;
    let unsettled = dsl::sessions.filter(
        dsl::session_id
            .eq(session_id)
            .and(dsl::status.eq(seen.as_str()))
            .and(dsl::submitted_at.is_null()),
    );
    diesel::update(unsettled)
        .set(late)
        .execute(db)
        .map(|rows| rows == 1)
}
