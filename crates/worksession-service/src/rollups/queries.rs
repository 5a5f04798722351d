use auth_types::{TeamId, UserId};
use chrono::NaiveDate;
use db_kit::{Db, json, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text};
use serde::Serialize;

use super::model::{UserTotals, UserTotalsSql};
use crate::rules::time::Periods;
use crate::schema::board;

/// A user and their periods, as the statement reads them.
#[derive(Serialize)]
struct Arguments {
    nth: usize,
    user_id: UserId,
    today: NaiveDate,
    week_from: NaiveDate,
    week_to: NaiveDate,
    month_from: NaiveDate,
    month_to: NaiveDate,
}

/// Returns the totals of several users, each with their own periods, in the order of `keys`. A user without totals gets
/// zeros.
pub(crate) fn list_totals(db: &mut Db, keys: &[(UserId, Periods)]) -> QueryResult<Vec<UserTotals>> {
    let text = match db {
        Db::Pg(_) => include_str!("user_totals.postgres.sql"),
        Db::Sqlite(_) => include_str!("user_totals.sqlite.sql"),
    };
    let arguments = keys
        .iter()
        .enumerate()
        .map(|(nth, (user_id, periods))| Arguments {
            nth,
            user_id: *user_id,
            today: periods.today,
            week_from: periods.week.0,
            week_to: periods.week.1,
            month_from: periods.month.0,
            month_to: periods.month.1,
        });
    let arguments: Vec<_> = arguments.collect();
    let mut totals = Vec::new();
    for arguments in json::arguments(db, &arguments)? {
        let rows = statement::<UserTotalsSql>(text).bind::<Text, _>(arguments);
        totals.extend(rows.load::<UserTotals>(db)?);
    }
    Ok(totals)
}

/// Returns up to `limit` boards of days, weeks and months that began before these dates: scope, period and first day.
pub(super) fn list_old_boards(
    db: &mut Db,
    [day, week, month]: [NaiveDate; 3],
    limit: i64,
) -> QueryResult<Vec<(i64, String, NaiveDate)>> {
    statement::<(BigInt, Text, Date)>(
        "SELECT DISTINCT scope, period, start FROM board WHERE (period = 'day' AND start < $1) \
         OR (period = 'week' AND start < $2) OR (period = 'month' AND start < $3) LIMIT $4",
    )
    .bind::<Date, _>(day)
    .bind::<Date, _>(week)
    .bind::<Date, _>(month)
    .bind::<BigInt, _>(limit)
    .load(db)
}

pub(super) fn delete_board(
    db: &mut Db,
    scope: i64,
    period: &str,
    start: NaiveDate,
) -> QueryResult<usize> {
    let rows = board::scope
        .eq(scope)
        .and(board::period.eq(period))
        .and(board::start.eq(start));
    diesel::delete(board::table.filter(rows)).execute(db)
}

/// Deletes the boards of a deleted team.
pub(crate) fn delete_boards_for_team(db: &mut Db, team: TeamId) -> QueryResult<usize> {
    diesel::delete(board::table.filter(board::scope.eq(team.get()))).execute(db)
}
