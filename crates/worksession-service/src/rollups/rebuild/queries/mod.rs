mod write;

use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Date, Integer, Nullable, Text, Timestamp};

pub(super) use write::{replace, set_on_boards};

use super::compute::RollupSession;
use super::rows::{BoardRollupRow, DayRollupRow, MonthRollupRow, RollupRows, TotalsRollupRow};
use crate::columns::columns;
use crate::rollups::leaderboard_retention::oldest_retained;
use crate::schema::{
    board, user_badges, user_category, user_day, user_hour, user_month, user_totals,
};

/// Returns the first user after `after` who has sessions or totals.
pub(crate) fn find_next_user(db: &mut Db, after: Option<UserId>) -> QueryResult<Option<UserId>> {
    let next = statement::<Nullable<BigInt>>(
        "SELECT MIN(user_id) FROM (SELECT MIN(user_id) AS user_id FROM sessions WHERE user_id > $1 \
         UNION ALL SELECT MIN(user_id) FROM user_totals WHERE user_id > $1) AS users",
    )
    .bind::<BigInt, _>(after.map_or(0, UserId::get));
    let next: Option<i64> = next.get_result(db)?;
    Ok(next.and_then(UserId::new))
}

pub(crate) fn count_users(db: &mut Db) -> QueryResult<i64> {
    user_totals::table.count().get_result(db)
}

/// Returns up to `limit` users with totals, ordered by id, without the first `offset`.
pub(crate) fn list_users(db: &mut Db, offset: i64, limit: i64) -> QueryResult<Vec<UserId>> {
    user_totals::table
        .order(user_totals::user_id)
        .select(user_totals::user_id)
        .limit(limit)
        .offset(offset)
        .load(db)
}

/// Returns the version of the user's totals; none without totals.
pub(super) fn find_version(db: &mut Db, user: UserId) -> QueryResult<Option<i64>> {
    user_totals::table
        .filter(user_totals::user_id.eq(user))
        .select(user_totals::version)
        .first(db)
        .optional()
}

/// Returns the sessions that the user submitted in time, in the order of the submits. A deleted team reads as none.
pub(super) fn list_submitted(db: &mut Db, user: UserId) -> QueryResult<Vec<RollupSession>> {
    let submitted = statement::<Columns>(
        "SELECT session_id, username, started_at, utc_offset, local_day, category, project_id, \
         CASE WHEN (SELECT deleted FROM teams g WHERE g.team_id = s.team_id) THEN NULL ELSE team_id END, \
         status = 'completed', credited_minutes, points_centi, submitted_at, on_boards, \
         credited_minutes > 0 AND NOT EXISTS (SELECT 1 FROM session_flags f WHERE f.session_id = s.session_id \
          AND (f.state = 'upheld' OR (f.severity = 'suspect' AND f.state <> 'cleared'))) \
         FROM sessions s WHERE user_id = $1 AND local_day IS NOT NULL ORDER BY submitted_at, session_id",
    );
    type Columns = (
        Text,
        Text,
        Timestamp,
        Integer,
        Date,
        Text,
        Text,
        Nullable<BigInt>,
        Bool,
        Integer,
        BigInt,
        Timestamp,
        Bool,
        Bool,
    );
    submitted.bind::<BigInt, _>(user).load(db)
}

/// Returns the user's stored rollups. Boards are limited to the periods that are retained on `today`.
pub(super) fn load_stored(db: &mut Db, user: UserId, today: NaiveDate) -> QueryResult<RollupRows> {
    let totals = user_totals::table
        .filter(user_totals::user_id.eq(user))
        .select(columns::<TotalsRollupRow>())
        .first(db)
        .optional()?;
    let days: Vec<DayRollupRow> = user_day::table
        .filter(user_day::user_id.eq(user))
        .select(columns::<DayRollupRow>())
        .load(db)?;
    let months: Vec<MonthRollupRow> = user_month::table
        .filter(user_month::user_id.eq(user))
        .select(columns::<MonthRollupRow>())
        .load(db)?;
    let hours: Vec<(i32, i64)> = user_hour::table
        .filter(user_hour::user_id.eq(user))
        .select((user_hour::hour, user_hour::minutes))
        .load(db)?;
    let categories: Vec<(String, i64)> = user_category::table
        .filter(user_category::user_id.eq(user))
        .select((user_category::category, user_category::minutes))
        .load(db)?;
    let badges: Vec<(String, NaiveDateTime)> = user_badges::table
        .filter(user_badges::user_id.eq(user))
        .select((user_badges::badge, user_badges::earned_at))
        .load(db)?;
    let boards: Vec<BoardRollupRow> = board::table
        .filter(board::user_id.eq(user))
        .select(columns::<BoardRollupRow>())
        .load(db)?;
    let is_retained = |row: &BoardRollupRow| row.start >= oldest_retained(&row.period, today);
    Ok(RollupRows {
        totals: totals.unwrap_or_default(),
        days: days.into_iter().map(|row| (row.day, row)).collect(),
        months: months.into_iter().map(|row| (row.month, row)).collect(),
        hours: hours.into_iter().collect(),
        categories: categories.into_iter().collect(),
        badges: badges.into_iter().collect(),
        boards: boards
            .into_iter()
            .filter(is_retained)
            .map(BoardRollupRow::keyed)
            .collect(),
    })
}
