use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Integer, Nullable, Text, Timestamp};

use crate::rollups::{Standing, StandingSql, standing_columns, standing_tables};
use crate::rules::streaks::{Day, Mark};
use crate::rules::time::{LONGEST_SESSION, LocalMoment, Periods, iso_week, month_of};
use crate::sessions::model::SessionRow;
use db_kit::statement::{Statement, arguments};

/// What a submit is settled by, besides the session itself.
#[derive(Debug, Clone, Queryable)]
pub(in crate::sessions::submit) struct Facts {
    /// The user's totals before this session.
    pub(in crate::sessions::submit) standing: Standing,
    /// The surroundings of this session.
    pub(in crate::sessions::submit) around: Around,
}

/// The session's own day, hour, category and week, and its neighbours.
#[derive(Debug, Clone, Queryable)]
pub(in crate::sessions::submit) struct Around {
    /// Credited in the local day before; none when nothing was submitted in it.
    pub(in crate::sessions::submit) day_minutes: Option<i32>,
    first_start: Option<NaiveDateTime>,
    first_offset: Option<i32>,
    last_start: Option<NaiveDateTime>,
    last_offset: Option<i32>,
    pub(in crate::sessions::submit) hour_minutes: i64,
    pub(in crate::sessions::submit) category_minutes: i64,
    /// Counted days of the ISO week without the session's own.
    pub(in crate::sessions::submit) other_days_in_week: i32,
    /// When the user's session before this one ended.
    pub(in crate::sessions::submit) previous_end: Option<NaiveDateTime>,
    /// When the user's session after this one started. One that ended before it started holds no time: the
    /// clock was set back, or the clocks of two replicas differ.
    pub(in crate::sessions::submit) next_start: Option<NaiveDateTime>,
    /// Credited to other sessions that may lie in 24 hours together with this one.
    pub(in crate::sessions::submit) minutes_near: i32,
    /// How the local day divides, as stored.
    pub(in crate::sessions::submit) by_hour: Option<String>,
    pub(in crate::sessions::submit) by_category: Option<String>,
    pub(in crate::sessions::submit) by_project: Option<String>,
    /// The session's change number: what is settled is the session as it was then.
    pub(in crate::sessions::submit) seq: i64,
    /// Flags of the session that keep it off the boards.
    pub(in crate::sessions::submit) suspect_flags: i64,
    /// How the local month divides, as stored.
    pub(in crate::sessions::submit) month_by_day: Option<String>,
    pub(in crate::sessions::submit) month_by_hour: Option<String>,
    pub(in crate::sessions::submit) month_by_category: Option<String>,
    pub(in crate::sessions::submit) month_by_project: Option<String>,
}

/// The SQL types of [`Facts`].
type FactsSql = (StandingSql, AroundSql);

type AroundSql = (
    Nullable<Integer>,
    Nullable<Timestamp>,
    Nullable<Integer>,
    Nullable<Timestamp>,
    Nullable<Integer>,
    BigInt,
    BigInt,
    Integer,
    Nullable<Timestamp>,
    Nullable<Timestamp>,
    Integer,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    BigInt,
    BigInt,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
);

impl Around {
    /// The session's day as it was, and what was credited in it.
    pub(in crate::sessions::submit) fn day_before(&self, date: NaiveDate) -> Option<(Day, i32)> {
        let mark = |at: Option<NaiveDateTime>, offset: Option<i32>| {
            at.zip(offset).map(|(at, offset)| Mark { at, offset })
        };
        let first = mark(self.first_start, self.first_offset)?;
        let last = mark(self.last_start, self.last_offset)?;
        Some((Day { date, first, last }, self.day_minutes?))
    }
}

arguments! {
    many ManyFacts,
    /// Whose session, where it stands in time, and the periods that hold now.
    pub(in crate::sessions::submit) struct FactsArguments {
        user_id: i64 as BigInt,
        session_id: String as Text,
        today: NaiveDate as Date,
        week_from: NaiveDate as Date,
        week_to: NaiveDate as Date,
        month_from: NaiveDate as Date,
        month_to: NaiveDate as Date,
        day: NaiveDate as Date,
        hour: i32 as Integer,
        category: String as Text,
        own_month: NaiveDate as Date,
        own_week_from: NaiveDate as Date,
        own_week_to: NaiveDate as Date,
        started_at: NaiveDateTime as Timestamp,
        near_from: NaiveDateTime as Timestamp,
        near_to: NaiveDateTime as Timestamp,
    }
}

impl FactsArguments {
    pub(in crate::sessions::submit) fn new(
        row: &SessionRow,
        moment: &LocalMoment,
        periods: &Periods,
    ) -> Self {
        let own_week = iso_week(moment.day);
        let (near_from, near_to) = near(row.started_at);
        Self {
            user_id: row.user_id.get(),
            session_id: row.session_id.clone(),
            today: periods.today,
            week_from: periods.week.0,
            week_to: periods.week.1,
            month_from: periods.month.0,
            month_to: periods.month.1,
            day: moment.day,
            hour: moment.hour,
            category: row.category.clone(),
            own_month: month_of(moment.day),
            own_week_from: own_week.0,
            own_week_to: own_week.1,
            started_at: row.started_at,
            near_from,
            near_to,
        }
    }
}

/// Between which starts a session can share 24 hours with one that started at `started_at`.
pub(in crate::sessions::submit) fn near(
    started_at: NaiveDateTime,
) -> (NaiveDateTime, NaiveDateTime) {
    let reach = TimeDelta::hours(24) + LONGEST_SESSION;
    (started_at - reach, started_at + reach)
}

/// One row of [`Facts`] for each of `a`, which is as many as `$tables` takes.
macro_rules! facts {
    ($of:tt, $($tables:tt)+) => { concat!(
    "SELECT ",
    standing_columns!($of),
    ", \
     s.minutes, s.first_start, s.first_offset, s.last_start, s.last_offset, \
     COALESCE((SELECT minutes FROM user_hour WHERE user_id = p_user_id AND hour = p_hour), 0), \
     COALESCE((SELECT minutes FROM user_category WHERE user_id = p_user_id AND category = p_category), 0), \
     (SELECT CAST(COUNT(*) AS INTEGER) FROM user_day WHERE user_id = p_user_id \
      AND day BETWEEN p_own_week_from AND p_own_week_to AND day <> p_day AND minutes >= 10), \
     (SELECT ended_at FROM sessions WHERE user_id = p_user_id AND started_at < p_started_at \
      ORDER BY started_at DESC LIMIT 1), \
     (SELECT started_at FROM sessions WHERE user_id = p_user_id AND started_at > p_started_at \
      AND (ended_at IS NULL OR ended_at > started_at) ORDER BY started_at LIMIT 1), \
     (SELECT CAST(COALESCE(SUM(credited_minutes), 0) AS INTEGER) FROM sessions WHERE user_id = p_user_id \
      AND started_at > p_near_from AND started_at < p_near_to), \
     s.by_hour, s.by_category, s.by_project, \
     COALESCE((SELECT seq FROM sessions WHERE session_id = p_session_id), 0), \
     (SELECT COUNT(*) FROM session_flags WHERE session_id = p_session_id AND (state = 'upheld' \
      OR (severity = 'suspect' AND state <> 'cleared'))), \
     m.by_day, m.by_hour, m.by_category, m.by_project ",
    $($tables)+
) }; }

const ONE: &str = facts!(
    one,
    standing_tables!(
        one "LEFT JOIN user_day s ON s.user_id = p_user_id AND s.day = p_day \
             LEFT JOIN user_month m ON m.user_id = p_user_id AND m.month = p_own_month"
    )
);
const MANY: &str = facts!(
    many,
    standing_tables!(many),
    " LEFT JOIN LATERAL (SELECT * FROM user_day WHERE user_id = p_user_id AND day = p_day OFFSET 0) s ON true \
      LEFT JOIN LATERAL (SELECT * FROM user_month WHERE user_id = p_user_id AND month = p_own_month OFFSET 0) m ON true \
      ORDER BY nth"
);

/// What submits are settled by, in their order.
pub(in crate::sessions::submit) fn facts(
    db: &mut Db,
    of: &[FactsArguments],
) -> QueryResult<Vec<Facts>> {
    match db {
        Db::Pg(conn) => Statement::<_, FactsSql>::new(|| MANY, &ManyFacts::of(of)).load(conn),
        Db::Sqlite(conn) => {
            let one = |of| Statement::<_, FactsSql>::new(|| ONE, of).get_result(conn);
            of.iter().map(one).collect()
        }
    }
}
