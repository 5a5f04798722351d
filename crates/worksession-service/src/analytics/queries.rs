use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text};

use super::range::Span;
use super::wire::Group;
use db_kit::statement::{Statement, arguments};

arguments! {
    struct MonthsArguments {
        user_id: i64 as BigInt,
        first: NaiveDate as Date,
        last: NaiveDate as Date,
    }
}

/// How the user's months between these first days divide, in order (see [`crate::rollups::Split`]): by day for days and
/// weeks, else by the group.
pub(super) fn months(
    db: &mut Db,
    user: UserId,
    months: Span,
    group: Group,
) -> QueryResult<Vec<(NaiveDate, String)>> {
    macro_rules! text {
        ($split:literal) => {
            concat!(
                "SELECT month, ",
                $split,
                " FROM a JOIN user_month ON user_id = (SELECT p_user_id FROM a) \
                 AND month BETWEEN (SELECT p_first FROM a) AND (SELECT p_last FROM a) ORDER BY month"
            )
        };
    }
    let text = match group {
        Group::Day | Group::Week => text!("by_day"),
        Group::Hour => text!("by_hour"),
        Group::Category => text!("by_category"),
        Group::Project => text!("by_project"),
    };
    let arguments = MonthsArguments {
        user_id: user.get(),
        first: months.first,
        last: months.last,
    };
    Statement::<_, (Date, Text)>::new(text, &arguments).load(db)
}

arguments! {
    struct EdgesArguments {
        user_id: i64 as BigInt,
        first: NaiveDate as Date,
        last: NaiveDate as Date,
        later_first: NaiveDate as Date,
        later_last: NaiveDate as Date,
    }
}

/// How the user's days in these two spans divide by the group.
pub(super) fn days(
    db: &mut Db,
    user: UserId,
    [early, late]: [Span; 2],
    group: Group,
) -> QueryResult<Vec<String>> {
    macro_rules! text {
        ($split:literal) => {
            concat!(
                "SELECT ",
                $split,
                " FROM user_day WHERE user_id = (SELECT p_user_id FROM a) \
                 AND day BETWEEN (SELECT p_first FROM a) AND (SELECT p_last FROM a) UNION ALL SELECT ",
                $split,
                " FROM user_day WHERE user_id = (SELECT p_user_id FROM a) \
                 AND day BETWEEN (SELECT p_later_first FROM a) AND (SELECT p_later_last FROM a)"
            )
        };
    }
    let text = match group {
        Group::Hour => text!("by_hour"),
        Group::Category => text!("by_category"),
        Group::Project => text!("by_project"),
        // Months tell their days themselves.
        Group::Day | Group::Week => return Ok(Vec::new()),
    };
    let arguments = EdgesArguments {
        user_id: user.get(),
        first: early.first,
        last: early.last,
        later_first: late.first,
        later_last: late.last,
    };
    Statement::<_, Text>::new(text, &arguments).load(db)
}
