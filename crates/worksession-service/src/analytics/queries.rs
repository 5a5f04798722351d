use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text};

use super::range::DateRange;
use super::wire::Group;

/// Returns the breakdowns of the user's months whose first days are in `months`, in order (see [`crate::rollups::Breakdown`]).
/// They are by day if `group` is day or week, otherwise by the group.
pub(super) fn list_months(
    db: &mut Db,
    user: UserId,
    months: DateRange,
    group: Group,
) -> QueryResult<Vec<(NaiveDate, String)>> {
    let months = statement::<(Date, Text)>(
        "SELECT month, CASE $1 WHEN 'hour' THEN by_hour WHEN 'category' THEN by_category WHEN 'project' THEN by_project \
          ELSE by_day END \
         FROM user_month WHERE user_id = $2 AND month BETWEEN $3 AND $4 ORDER BY month",
    )
    .bind::<Text, _>(group.name())
    .bind::<BigInt, _>(user)
    .bind::<Date, _>(months.from)
    .bind::<Date, _>(months.to);
    months.load(db)
}

/// Returns the breakdowns of the user's days in two ranges, by hour, category or project.
pub(super) fn list_days(
    db: &mut Db,
    user: UserId,
    [early, late]: [DateRange; 2],
    group: Group,
) -> QueryResult<Vec<String>> {
    statement::<Text>(
        "SELECT CASE $1 WHEN 'hour' THEN by_hour WHEN 'category' THEN by_category ELSE by_project END \
         FROM user_day WHERE user_id = $2 AND day BETWEEN $3 AND $4 \
         UNION ALL SELECT CASE $1 WHEN 'hour' THEN by_hour WHEN 'category' THEN by_category ELSE by_project END \
         FROM user_day WHERE user_id = $2 AND day BETWEEN $5 AND $6",
    )
    .bind::<Text, _>(group.name())
    .bind::<BigInt, _>(user)
    .bind::<Date, _>(early.from)
    .bind::<Date, _>(early.to)
    .bind::<Date, _>(late.from)
    .bind::<Date, _>(late.to).load(db)
}
