use auth_types::UserId;
use chrono::NaiveDate;
use db_kit::{Db, cached, json};
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::Serialize;

use super::model::{Standing, StandingSql};
use crate::rules::time::Periods;

/// Whose standing, in which periods.
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

/// The standings of several users, each in periods of its own, in their order: the user's totals, and what of them falls
/// into the periods. Of a user without totals all is zero.
pub(crate) fn standings(db: &mut Db, of: &[(UserId, Periods)]) -> QueryResult<Vec<Standing>> {
    let text = match db {
        Db::Pg(_) => include_str!("standings.postgres.sql"),
        Db::Sqlite(_) => include_str!("standings.sqlite.sql"),
    };
    let arguments = of
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
    let mut standings = Vec::new();
    for arguments in json::arguments(db, &arguments)? {
        let found = diesel::sql_query(text).bind::<Text, _>(arguments);
        standings.extend(cached::<StandingSql, _>(found).load::<Standing>(db)?);
    }
    Ok(standings)
}
