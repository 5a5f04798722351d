use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text, Timestamp};

use super::board::LeaderboardRow;
use super::cache::LeaderboardKey;

/// The maximum number of users on a board. Users below them have no rank.
const MOST: i64 = 100_000;

/// Returns the best rows of a board. The board of everybody shows only users who are opted in now.
pub(super) fn rows(db: &mut Db, key: &LeaderboardKey) -> QueryResult<Vec<LeaderboardRow>> {
    let shown = match key.scope {
        0 => "JOIN user_settings s ON s.user_id = b.user_id AND s.leaderboard_opt_in",
        _ => "",
    };
    let text = format!(
        "SELECT b.user_id, b.username, b.points_centi, b.minutes, b.sessions, b.reached_at FROM board b {shown} \
         WHERE scope = $1 AND period = $2 AND start = $3 AND points_centi > 0 \
         ORDER BY b.points_centi DESC, b.reached_at, b.user_id LIMIT $4"
    );
    let best = diesel::sql_query(text)
        .bind::<BigInt, _>(key.scope)
        .bind::<Text, _>(key.period.name())
        .bind::<Date, _>(key.start)
        .bind::<BigInt, _>(MOST);
    cached::<(BigInt, Text, BigInt, BigInt, BigInt, Timestamp), _>(best).load(db)
}
