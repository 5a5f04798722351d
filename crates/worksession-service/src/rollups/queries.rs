use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::{Db, on_backend};
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
    () => {
        "COALESCE(t.version, 0), COALESCE(t.points_centi, 0), COALESCE(t.sessions, 0), \
         COALESCE(t.completed_sessions, 0), COALESCE(t.minutes, 0), COALESCE(t.streak_run, 0), \
         COALESCE(t.streak_longest, 0), t.streak_last_day, t.streak_last_start, t.streak_last_offset, \
         COALESCE(t.best_hour, 0), COALESCE(t.best_hour_minutes, 0), COALESCE(t.favorite_category, ''), \
         COALESCE(t.favorite_category_minutes, 0), \
         d.points_today, d.points_week, d.points_month, d.days_week, d.days_month, \
         (SELECT string_agg(badge, ',' ORDER BY earned_at, badge) FROM user_badges WHERE user_id = p_user_id)"
    };
}
pub(crate) use standing_columns;

/// What of a user's days, at most six weeks of them, falls into each period.
macro_rules! period_sums {
    () => {
        "SELECT \
          CAST(COALESCE(SUM(points_centi) FILTER (WHERE day = p_today), 0) AS BIGINT) AS points_today, \
          CAST(COALESCE(SUM(points_centi) FILTER (WHERE day BETWEEN p_week_from AND p_week_to), 0) AS BIGINT) AS points_week, \
          CAST(COALESCE(SUM(points_centi) FILTER (WHERE day BETWEEN p_month_from AND p_month_to), 0) AS BIGINT) AS points_month, \
          CAST(COUNT(*) FILTER (WHERE minutes >= 10 AND day BETWEEN p_week_from AND p_week_to) AS INTEGER) AS days_week, \
          CAST(COUNT(*) FILTER (WHERE minutes >= 10 AND day BETWEEN p_month_from AND p_month_to) AS INTEGER) AS days_month "
    };
}
pub(crate) use period_sums;

/// Whose days they are, and which are read.
macro_rules! days_of_user {
    () => {
        "user_id = p_user_id AND day BETWEEN \
          CASE WHEN p_week_from < p_month_from THEN p_week_from ELSE p_month_from END \
          AND CASE WHEN p_week_to > p_month_to THEN p_week_to ELSE p_month_to END"
    };
}
pub(crate) use days_of_user;

/// For each row of `a` exactly one, whether or not the user has totals; of many, each user by itself (`OFFSET 0`), so that
/// PostgreSQL never reads a table whole because it is small yet.
macro_rules! standing_tables {
    () => {
        concat!(
            "FROM a JOIN (",
            crate::rollups::period_sums!(),
            "FROM a JOIN user_day ON ",
            crate::rollups::days_of_user!(),
            ") d ON true LEFT JOIN user_totals t ON t.user_id = p_user_id"
        )
    };
    (many) => {
        concat!(
            "FROM a CROSS JOIN LATERAL (",
            crate::rollups::period_sums!(),
            "FROM user_day WHERE ",
            crate::rollups::days_of_user!(),
            ") d LEFT JOIN LATERAL (SELECT * FROM user_totals WHERE user_id = p_user_id OFFSET 0) t ON true"
        )
    };
}
pub(crate) use standing_tables;

/// The user's totals, and what of them falls into `periods`.
pub(crate) fn standing(db: &mut Db, user: UserId, periods: &Periods) -> QueryResult<Standing> {
    const TEXT: &str = concat!("SELECT ", standing_columns!(), " ", standing_tables!());
    let arguments = StandingArguments::new(user, periods);
    on_backend!(db, conn => Statement::<_, StandingSql>::new(TEXT, &arguments).get_result(conn))
}

/// The standings of several users, each in periods of its own, in their order.
pub(crate) fn standings(db: &mut Db, of: &[(UserId, Periods)]) -> QueryResult<Vec<Standing>> {
    const TEXT: &str = concat!(
        "SELECT ",
        standing_columns!(),
        " ",
        standing_tables!(many),
        " ORDER BY nth"
    );
    let of = of.iter();
    match db {
        Db::Pg(conn) => {
            let of: Vec<_> = of
                .map(|(user, periods)| StandingArguments::new(*user, periods))
                .collect();
            Statement::<_, StandingSql>::new(TEXT, &ManyStandings::of(&of)).load(conn)
        }
        Db::Sqlite(_) => of
            .map(|(user, periods)| standing(db, *user, periods))
            .collect(),
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
