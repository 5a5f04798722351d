use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text};

use super::range::Span;
use super::wire::Group;

/// How the user's months between these first days divide, in order (see [`crate::rollups::Split`]): by day for days and
/// weeks, else by the group.
pub(super) fn months(
    db: &mut Db,
    user: UserId,
    months: Span,
    group: Group,
) -> QueryResult<Vec<(NaiveDate, String)>> {
    let text = match group {
        Group::Day | Group::Week => {
            "SELECT month, by_day FROM user_month WHERE user_id = $1 AND month BETWEEN $2 AND $3 ORDER BY month"
        }
        Group::Hour => {
            "SELECT month, by_hour FROM user_month WHERE user_id = $1 AND month BETWEEN $2 AND $3 ORDER BY month"
        }
        Group::Category => {
            "SELECT month, by_category FROM user_month WHERE user_id = $1 AND month BETWEEN $2 AND $3 ORDER BY month"
        }
        Group::Project => {
            "SELECT month, by_project FROM user_month WHERE user_id = $1 AND month BETWEEN $2 AND $3 ORDER BY month"
        }
    };
    let months = diesel::sql_query(text)
        .bind::<BigInt, _>(user)
        .bind::<Date, _>(months.first)
        .bind::<Date, _>(months.last);
    cached::<(Date, Text), _>(months).load(db)
}

/// How the user's days in these two spans divide by the group.
pub(super) fn days(
    db: &mut Db,
    user: UserId,
    [early, late]: [Span; 2],
    group: Group,
) -> QueryResult<Vec<String>> {
    let text = match group {
        Group::Hour => {
            "SELECT by_hour FROM user_day WHERE user_id = $1 AND day BETWEEN $2 AND $3 \
             UNION ALL SELECT by_hour FROM user_day WHERE user_id = $1 AND day BETWEEN $4 AND $5"
        }
        Group::Category => {
            "SELECT by_category FROM user_day WHERE user_id = $1 AND day BETWEEN $2 AND $3 \
             UNION ALL SELECT by_category FROM user_day WHERE user_id = $1 AND day BETWEEN $4 AND $5"
        }
        Group::Project => {
            "SELECT by_project FROM user_day WHERE user_id = $1 AND day BETWEEN $2 AND $3 \
             UNION ALL SELECT by_project FROM user_day WHERE user_id = $1 AND day BETWEEN $4 AND $5"
        }
        // Months tell their days themselves.
        Group::Day | Group::Week => return Ok(Vec::new()),
    };
    let days = diesel::sql_query(text)
        .bind::<BigInt, _>(user)
        .bind::<Date, _>(early.first)
        .bind::<Date, _>(early.last)
        .bind::<Date, _>(late.first)
        .bind::<Date, _>(late.last);
    cached::<Text, _>(days).load(db)
}
