use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text, Timestamp};

use super::cache::LeaderboardKey;
use super::model::LeaderboardRow;

/// The maximum number of users on a board. Users below them have no rank.
const MAX_ROWS: i64 = 100_000;

/// Returns the best rows of a board. The board of everybody shows only users who are opted in now.
pub(super) fn list_rows(db: &mut Db, key: &LeaderboardKey) -> QueryResult<Vec<LeaderboardRow>> {
    let text = match key.scope {
        0 => include_str!("everybody.sql"),
        _ => include_str!("team.sql"),
    };
    statement::<(BigInt, Text, BigInt, BigInt, BigInt, Timestamp)>(text)
        .bind::<BigInt, _>(key.scope)
        .bind::<Text, _>(key.period.name())
        .bind::<Date, _>(key.start)
        .bind::<BigInt, _>(MAX_ROWS)
        .load(db)
}
