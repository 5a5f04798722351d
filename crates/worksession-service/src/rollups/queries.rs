use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date};

use super::model::{Standing, StandingSql};
use crate::rules::time::Periods;
use db_kit::statement::{Statement, arguments};

arguments! {
    many ManyStandings,
    /// Whose standing, in which periods.
    struct StandingArguments {
        user_id: i64 as BigInt,
        today: NaiveDate as Date,
        week_from: NaiveDate as Date,
        week_to: NaiveDate as Date,
        month_from: NaiveDate as Date,
        month_to: NaiveDate as Date,
    }
}

/// The columns of [`Standing`], from [`standing_tables!`].
macro_rules! standing_columns {
    ($points_today:expr, $points_week:expr, $points_month:expr, $days_week:expr, $days_month:expr) => {
        concat!(
            "COALESCE(t.version, 0), COALESCE(t.points_centi, 0), COALESCE(t.sessions, 0), \
             COALESCE(t.completed_sessions, 0), COALESCE(t.minutes, 0), COALESCE(t.streak_run, 0), \
             COALESCE(t.streak_longest, 0), t.streak_last_day, t.streak_last_start, t.streak_last_offset, \
             COALESCE(t.best_hour, 0), COALESCE(t.best_hour_minutes, 0), COALESCE(t.favorite_category, ''), \
             COALESCE(t.favorite_category_minutes, 0), ",
            $points_today,
            ", ",
            $points_week,
            ", ",
            $points_month,
            ", ",
            $days_week,
            ", ",
            $days_month,
            ", (SELECT string_agg(badge, ',' ORDER BY earned_at, badge) FROM user_badges WHERE user_id = p_user_id)"
        )
    };
    (one) => {
        crate::rollups::standing_columns!(
            crate::rollups::points!("d.day = p_today"),
            crate::rollups::points!("d.day BETWEEN p_week_from AND p_week_to"),
            crate::rollups::points!("d.day BETWEEN p_month_from AND p_month_to"),
            crate::rollups::days!("d.day BETWEEN p_week_from AND p_week_to"),
            crate::rollups::days!("d.day BETWEEN p_month_from AND p_month_to")
        )
    };
    (many) => {
        crate::rollups::standing_columns!(
            "d.points_today",
            "d.points_week",
            "d.points_month",
            "d.days_week",
            "d.days_month"
        )
    };
}
pub(crate) use standing_columns;

/// What was earned on the days `d` that fall into a period.
macro_rules! points {
    ($period:literal) => {
        concat!(
            "CAST(COALESCE(SUM(d.points_centi) FILTER (WHERE ",
            $period,
            "), 0) AS BIGINT)"
        )
    };
}
pub(crate) use points;

/// How many of the days `d` count that fall into a period.
macro_rules! days {
    ($period:literal) => {
        concat!(
            "CAST(COUNT(*) FILTER (WHERE d.minutes >= 10 AND ",
            $period,
            ") AS INTEGER)"
        )
    };
}
pub(crate) use days;

/// Whose days they are, and which are read: at most six weeks of them.
macro_rules! days_of_user {
    () => {
        "d.user_id = p_user_id AND d.day BETWEEN \
          CASE WHEN p_week_from < p_month_from THEN p_week_from ELSE p_month_from END \
          AND CASE WHEN p_week_to > p_month_to THEN p_week_to ELSE p_month_to END"
    };
}
pub(crate) use days_of_user;

/// For each row of `a` exactly one, whether or not the user has totals.
///
/// - `one`, on SQLite: the days are summed up behind all else that is joined, because a query inside of another would be
///   written into a table of its own first. The values of `$others`, the same for all days, may stand beside the sums there.
/// - `many`, on PostgreSQL: each user by itself (`OFFSET 0`), so that it never reads a table whole because it is small yet.
macro_rules! standing_tables {
    (one $($others:literal)?) => {
        concat!(
            "FROM a LEFT JOIN user_totals t ON t.user_id = p_user_id ",
            $($others,)?
            " LEFT JOIN user_day d ON ",
            crate::rollups::days_of_user!()
        )
    };
    (many) => {
        concat!(
            "FROM a CROSS JOIN LATERAL (SELECT ",
            crate::rollups::points!("d.day = p_today"),
            " AS points_today, ",
            crate::rollups::points!("d.day BETWEEN p_week_from AND p_week_to"),
            " AS points_week, ",
            crate::rollups::points!("d.day BETWEEN p_month_from AND p_month_to"),
            " AS points_month, ",
            crate::rollups::days!("d.day BETWEEN p_week_from AND p_week_to"),
            " AS days_week, ",
            crate::rollups::days!("d.day BETWEEN p_month_from AND p_month_to"),
            " AS days_month FROM user_day d WHERE ",
            crate::rollups::days_of_user!(),
            ") d LEFT JOIN LATERAL (SELECT * FROM user_totals WHERE user_id = p_user_id OFFSET 0) t ON true"
        )
    };
}
pub(crate) use standing_tables;

/// The user's totals, and what of them falls into `periods`.
pub(crate) fn standing(db: &mut Db, user: UserId, periods: &Periods) -> QueryResult<Standing> {
    let found = standings(db, &[(user, *periods)])?;
    found.into_iter().next().ok_or(diesel::NotFound)
}

/// The standings of several users, each in periods of its own, in their order.
pub(crate) fn standings(db: &mut Db, of: &[(UserId, Periods)]) -> QueryResult<Vec<Standing>> {
    const ONE: &str = concat!(
        "SELECT ",
        standing_columns!(one),
        " ",
        standing_tables!(one)
    );
    const MANY: &str = concat!(
        "SELECT ",
        standing_columns!(many),
        " ",
        standing_tables!(many),
        " ORDER BY nth"
    );
    let of = of.iter();
    let mut of = of.map(|(user, periods)| StandingArguments::new(*user, periods));
    match db {
        Db::Pg(conn) => {
            let of: Vec<_> = of.collect();
            Statement::<_, StandingSql>::new(|| MANY, &ManyStandings::of(&of)).load(conn)
        }
        Db::Sqlite(conn) => of.try_fold(Vec::new(), |mut found, of| {
            found.push(Statement::<_, StandingSql>::new(|| ONE, &of).get_result(conn)?);
            Ok(found)
        }),
    }
}

impl StandingArguments {
    fn new(user: UserId, periods: &Periods) -> Self {
        Self {
            user_id: user.get(),
            today: periods.today,
            week_from: periods.week.0,
            week_to: periods.week.1,
            month_from: periods.month.0,
            month_to: periods.month.1,
        }
    }
}
