use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Db, cached, on_backend};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use crate::error::Error;
use crate::rollups::rebuild::tally::{DayTotals, MonthTotals, Rollups};
use crate::schema::{
    board, user_badges, user_category, user_day, user_hour, user_month, user_totals,
};

/// Rows of one INSERT, well below the parameters that a statement may have.
const BATCH: usize = 500;

#[derive(Insertable)]
#[diesel(table_name = user_totals)]
struct TotalsRow<'a> {
    user_id: UserId,
    version: i64,
    points_centi: i64,
    sessions: i64,
    completed_sessions: i64,
    minutes: i64,
    streak_run: i32,
    streak_longest: i32,
    streak_last_day: Option<NaiveDate>,
    streak_last_start: Option<NaiveDateTime>,
    streak_last_offset: Option<i32>,
    best_hour: i32,
    best_hour_minutes: i64,
    favorite_category: &'a str,
    favorite_category_minutes: i64,
}

#[derive(Insertable)]
#[diesel(table_name = user_day)]
struct DayRow {
    user_id: UserId,
    day: NaiveDate,
    sessions: i32,
    minutes: i32,
    points_centi: i64,
    first_start: NaiveDateTime,
    first_offset: i32,
    last_start: NaiveDateTime,
    last_offset: i32,
    by_hour: String,
    by_category: String,
    by_project: String,
}

#[derive(Insertable)]
#[diesel(table_name = user_month)]
struct MonthRow {
    user_id: UserId,
    month: NaiveDate,
    by_day: String,
    by_hour: String,
    by_category: String,
    by_project: String,
}

#[derive(Insertable)]
#[diesel(table_name = board)]
struct BoardRow<'a> {
    scope: i64,
    period: &'a str,
    start: NaiveDate,
    user_id: UserId,
    username: &'a str,
    points_centi: i64,
    minutes: i64,
    sessions: i64,
    reached_at: NaiveDateTime,
}

/// Deletes the user's rows of a table and inserts others.
macro_rules! refill {
    ($db:ident, $table:ident, $user:ident, $rows:expr) => {
        diesel::delete($table::table.filter($table::user_id.eq($user))).execute($db)?;
        let rows: Vec<_> = $rows;
        for rows in rows.chunks(BATCH) {
            on_backend!($db, conn => diesel::insert_into($table::table).values(rows).execute(conn))?;
        }
    };
}

/// Puts these rollups in the place of the user's; badges are only added.
pub(in crate::rollups::rebuild) fn replace(
    db: &mut Db,
    user: UserId,
    version: i64,
    rollups: &Rollups,
) -> Result<(), Error> {
    refill!(db, user_totals, user, vec![totals(user, version, rollups)]);
    let days = rollups.days.iter();
    refill!(
        db,
        user_day,
        user,
        days.map(|(date, day)| day_row(user, *date, day))
            .collect::<Result<_, _>>()?
    );
    let months = rollups.months.iter();
    let months = months.map(|(month, totals)| month_row(user, *month, totals));
    refill!(db, user_month, user, months.collect::<Result<_, Error>>()?);
    refill!(
        db,
        user_hour,
        user,
        rollups
            .hours
            .iter()
            .map(|(hour, minutes)| (
                user_hour::user_id.eq(user),
                user_hour::hour.eq(*hour),
                user_hour::minutes.eq(*minutes),
            ))
            .collect()
    );
    refill!(
        db,
        user_category,
        user,
        rollups
            .categories
            .iter()
            .map(|(category, minutes)| (
                user_category::user_id.eq(user),
                user_category::category.eq(category),
                user_category::minutes.eq(*minutes),
            ))
            .collect()
    );
    refill!(db, board, user, boards(user, rollups));
    for (badge, earned_at) in &rollups.badges {
        on_backend!(db, conn => diesel::insert_into(user_badges::table)
            .values((
                user_badges::user_id.eq(user),
                user_badges::badge.eq(badge),
                user_badges::earned_at.eq(earned_at),
            ))
            .on_conflict_do_nothing()
            .execute(conn))?;
    }
    Ok(())
}

fn totals(user: UserId, version: i64, rollups: &Rollups) -> TotalsRow<'_> {
    let totals = &rollups.totals;
    let last = totals.streak.last;
    TotalsRow {
        user_id: user,
        version,
        points_centi: totals.sums.points.0,
        sessions: totals.sums.sessions,
        completed_sessions: totals.completed,
        minutes: totals.sums.minutes,
        streak_run: totals.streak.run,
        streak_longest: totals.streak.longest,
        streak_last_day: last.map(|last| last.0),
        streak_last_start: last.map(|last| last.1.at),
        streak_last_offset: last.map(|last| last.1.offset),
        best_hour: totals.best_hour,
        best_hour_minutes: totals.best_hour_minutes,
        favorite_category: &totals.favorite_category,
        favorite_category_minutes: totals.favorite_category_minutes,
    }
}

fn day_row(user: UserId, date: NaiveDate, totals: &DayTotals) -> Result<DayRow, Error> {
    let number = |value: i64| i32::try_from(value).map_err(Error::internal);
    Ok(DayRow {
        user_id: user,
        day: date,
        sessions: number(totals.sums.sessions)?,
        minutes: number(totals.sums.minutes)?,
        points_centi: totals.sums.points.0,
        first_start: totals.day.first.at,
        first_offset: totals.day.first.offset,
        last_start: totals.day.last.at,
        last_offset: totals.day.last.offset,
        by_hour: totals.by_hour.to_text()?,
        by_category: totals.by_category.to_text()?,
        by_project: totals.by_project.to_text()?,
    })
}

fn month_row(user: UserId, month: NaiveDate, totals: &MonthTotals) -> Result<MonthRow, Error> {
    Ok(MonthRow {
        user_id: user,
        month,
        by_day: totals.by_day.to_text()?,
        by_hour: totals.by_hour.to_text()?,
        by_category: totals.by_category.to_text()?,
        by_project: totals.by_project.to_text()?,
    })
}

fn boards(user: UserId, rollups: &Rollups) -> Vec<BoardRow<'_>> {
    let mut rows = Vec::new();
    for ((scope, period, start), standing) in &rollups.boards {
        rows.push(BoardRow {
            scope: *scope,
            period,
            start: *start,
            user_id: user,
            username: &standing.username,
            points_centi: standing.sums.points.0,
            minutes: standing.sums.minutes,
            sessions: standing.sums.sessions,
            reached_at: standing.reached_at,
        });
    }
    rows
}

/// Notes whether the session's credit stands on the boards.
pub(in crate::rollups::rebuild) fn set_on_boards(
    db: &mut Db,
    session_id: &str,
    on_boards: bool,
) -> QueryResult<usize> {
    let set = diesel::sql_query("UPDATE sessions SET on_boards = $1 WHERE session_id = $2")
        .bind::<Bool, _>(on_boards)
        .bind::<Text, _>(session_id);
    cached::<(), _>(set).execute(db)
}
