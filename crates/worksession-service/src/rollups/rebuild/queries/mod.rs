mod write;

use std::collections::BTreeMap;

use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Date, Integer, Nullable, Text, Timestamp};

pub(super) use write::{replace, set_on_boards};

use super::tally::{BoardKey, DayTotals, MonthTotals, Rollups, Standing, Totals, Worked};
use crate::error::Error;
use crate::rollups::boards::oldest_kept;
use crate::rollups::split::{Split, Sums};
use crate::rules::points::Points;
use crate::rules::streaks::{Day, Mark, Streak};
use crate::schema::{
    board, user_badges, user_category, user_day, user_hour, user_month, user_totals,
};

/// The first user after `after` who has sessions or totals.
pub(crate) fn next_user(db: &mut Db, after: Option<UserId>) -> QueryResult<Option<UserId>> {
    let next = diesel::sql_query(
        "SELECT MIN(user_id) FROM (SELECT MIN(user_id) AS user_id FROM sessions WHERE user_id > $1 \
         UNION ALL SELECT MIN(user_id) FROM user_totals WHERE user_id > $1) AS users",
    );
    let next = next.bind::<BigInt, _>(after.map_or(0, UserId::get));
    let next: Option<i64> = cached::<Nullable<BigInt>, _>(next).get_result(db)?;
    Ok(next.and_then(UserId::new))
}

/// How many users have totals.
pub(crate) fn count_users(db: &mut Db) -> QueryResult<i64> {
    user_totals::table.count().get_result(db)
}

/// Up to `limit` users with totals, in order, without the first `offset` of them.
pub(crate) fn users_from(db: &mut Db, offset: i64, limit: i64) -> QueryResult<Vec<UserId>> {
    user_totals::table
        .order(user_totals::user_id)
        .select(user_totals::user_id)
        .limit(limit)
        .offset(offset)
        .load(db)
}

/// Counts what was written to the user's totals; none when there are none.
pub(super) fn version(db: &mut Db, user: UserId) -> QueryResult<Option<i64>> {
    user_totals::table
        .filter(user_totals::user_id.eq(user))
        .select(user_totals::version)
        .first(db)
        .optional()
}

#[derive(Queryable)]
struct WorkedRow {
    session_id: String,
    username: String,
    started_at: NaiveDateTime,
    offset: i32,
    day: NaiveDate,
    category: String,
    project_id: String,
    team_id: Option<i64>,
    status: String,
    minutes: i32,
    points: i64,
    submitted_at: NaiveDateTime,
    on_boards: bool,
    suspect: bool,
}

/// The user's submitted sessions in the order of their submits; a team that is gone is none.
pub(super) fn worked(db: &mut Db, user: UserId) -> QueryResult<Vec<Worked>> {
    let worked = diesel::sql_query(
        "SELECT session_id, username, started_at, utc_offset, local_day, category, project_id, \
         CASE WHEN (SELECT deleted FROM teams g WHERE g.team_id = s.team_id) THEN NULL ELSE team_id END, \
         status, credited_minutes, points_centi, submitted_at, on_boards, \
         EXISTS (SELECT 1 FROM session_flags f WHERE f.session_id = s.session_id \
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
        Text,
        Integer,
        BigInt,
        Timestamp,
        Bool,
        Bool,
    );
    let worked = worked.bind::<BigInt, _>(user);
    let rows: Vec<WorkedRow> = cached::<Columns, _>(worked).load(db)?;
    let read = |row: WorkedRow| Worked {
        session_id: row.session_id,
        username: row.username,
        started_at: row.started_at,
        offset: row.offset,
        day: row.day,
        category: row.category,
        project_id: row.project_id,
        team_id: row.team_id,
        completed: row.status == "completed",
        minutes: row.minutes,
        points: row.points,
        submitted_at: row.submitted_at,
        on_boards: row.on_boards,
        belongs_on_boards: row.minutes > 0 && !row.suspect,
    };
    Ok(rows.into_iter().map(read).collect())
}

/// The user's rollups as they lie there, boards of periods that are kept on `today` only.
pub(super) fn stored(db: &mut Db, user: UserId, today: NaiveDate) -> Result<Rollups, Error> {
    Ok(Rollups {
        totals: totals(db, user)?,
        days: days(db, user)?,
        months: months(db, user)?,
        hours: pairs(
            user_hour::table
                .filter(user_hour::user_id.eq(user))
                .select((user_hour::hour, user_hour::minutes))
                .load(db)?,
        ),
        categories: pairs(
            user_category::table
                .filter(user_category::user_id.eq(user))
                .select((user_category::category, user_category::minutes))
                .load(db)?,
        ),
        badges: pairs(
            user_badges::table
                .filter(user_badges::user_id.eq(user))
                .select((user_badges::badge, user_badges::earned_at))
                .load(db)?,
        ),
        boards: boards(db, user, today)?,
    })
}

fn pairs<K: Ord, V>(rows: Vec<(K, V)>) -> BTreeMap<K, V> {
    rows.into_iter().collect()
}

fn totals(db: &mut Db, user: UserId) -> QueryResult<Totals> {
    #[derive(Queryable)]
    struct Row {
        points: i64,
        sessions: i64,
        completed: i64,
        minutes: i64,
        run: i32,
        longest: i32,
        last_day: Option<NaiveDate>,
        last_start: Option<NaiveDateTime>,
        last_offset: Option<i32>,
        best: (i32, i64),
        favorite: (String, i64),
    }
    let row: Option<Row> = user_totals::table
        .filter(user_totals::user_id.eq(user))
        .select((
            user_totals::points_centi,
            user_totals::sessions,
            user_totals::completed_sessions,
            user_totals::minutes,
            user_totals::streak_run,
            user_totals::streak_longest,
            user_totals::streak_last_day,
            user_totals::streak_last_start,
            user_totals::streak_last_offset,
            (user_totals::best_hour, user_totals::best_hour_minutes),
            (
                user_totals::favorite_category,
                user_totals::favorite_category_minutes,
            ),
        ))
        .first(db)
        .optional()?;
    Ok(row.map_or_else(Totals::default, |row| Totals {
        sums: Sums {
            sessions: row.sessions,
            minutes: row.minutes,
            points: Points(row.points),
        },
        completed: row.completed,
        streak: Streak {
            run: row.run,
            longest: row.longest,
            last: row.last_day.zip(
                row.last_start
                    .zip(row.last_offset)
                    .map(|(at, offset)| Mark { at, offset }),
            ),
        },
        best_hour: row.best.0,
        best_hour_minutes: row.best.1,
        favorite_category: row.favorite.0,
        favorite_category_minutes: row.favorite.1,
    }))
}

fn days(db: &mut Db, user: UserId) -> Result<BTreeMap<NaiveDate, DayTotals>, Error> {
    #[derive(Queryable)]
    struct Row {
        day: NaiveDate,
        sessions: i32,
        minutes: i32,
        points: i64,
        first: (NaiveDateTime, i32),
        last: (NaiveDateTime, i32),
        splits: (String, String, String),
    }
    let rows: Vec<Row> = user_day::table
        .filter(user_day::user_id.eq(user))
        .select((
            user_day::day,
            user_day::sessions,
            user_day::minutes,
            user_day::points_centi,
            (user_day::first_start, user_day::first_offset),
            (user_day::last_start, user_day::last_offset),
            (
                user_day::by_hour,
                user_day::by_category,
                user_day::by_project,
            ),
        ))
        .load(db)?;
    let mark = |(at, offset)| Mark { at, offset };
    let read = |row: Row| {
        let totals = DayTotals {
            sums: Sums {
                sessions: row.sessions.into(),
                minutes: row.minutes.into(),
                points: Points(row.points),
            },
            day: Day {
                date: row.day,
                first: mark(row.first),
                last: mark(row.last),
            },
            by_hour: Split::read(Some(&row.splits.0))?,
            by_category: Split::read(Some(&row.splits.1))?,
            by_project: Split::read(Some(&row.splits.2))?,
        };
        Ok((row.day, totals))
    };
    rows.into_iter().map(read).collect()
}

fn months(db: &mut Db, user: UserId) -> Result<BTreeMap<NaiveDate, MonthTotals>, Error> {
    type Row = (NaiveDate, String, String, String, String);
    let rows: Vec<Row> = user_month::table
        .filter(user_month::user_id.eq(user))
        .select((
            user_month::month,
            user_month::by_day,
            user_month::by_hour,
            user_month::by_category,
            user_month::by_project,
        ))
        .load(db)?;
    let read = |(month, by_day, by_hour, by_category, by_project): Row| {
        let totals = MonthTotals {
            by_day: Split::read(Some(&by_day))?,
            by_hour: Split::read(Some(&by_hour))?,
            by_category: Split::read(Some(&by_category))?,
            by_project: Split::read(Some(&by_project))?,
        };
        Ok((month, totals))
    };
    rows.into_iter().map(read).collect()
}

fn boards(
    db: &mut Db,
    user: UserId,
    today: NaiveDate,
) -> QueryResult<BTreeMap<BoardKey, Standing>> {
    #[derive(Queryable)]
    struct Row {
        key: BoardKey,
        username: String,
        points: i64,
        minutes: i64,
        sessions: i64,
        reached_at: NaiveDateTime,
    }
    let rows: Vec<Row> = board::table
        .filter(board::user_id.eq(user))
        .select((
            (board::scope, board::period, board::start),
            board::username,
            board::points_centi,
            board::minutes,
            board::sessions,
            board::reached_at,
        ))
        .load(db)?;
    let read = |row: Row| {
        let standing = Standing {
            username: row.username,
            sums: Sums {
                sessions: row.sessions,
                minutes: row.minutes,
                points: Points(row.points),
            },
            reached_at: row.reached_at,
        };
        (row.key, standing)
    };
    let kept = |(key, _): &(BoardKey, Standing)| key.2 >= oldest_kept(&key.1, today);
    Ok(rows.into_iter().map(read).filter(kept).collect())
}
