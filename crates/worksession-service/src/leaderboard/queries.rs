use auth_types::TeamId;
use chrono::NaiveDate;
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text, Timestamp};

use super::board::BoardRow;
use super::kept::Key;
use crate::rollups::rebuild::oldest_kept;
use crate::schema::board;

/// Users on one board at most: who comes after them has no rank.
const MOST: i64 = 100_000;

/// The best of a board. On that of everybody only who opted in, as it is now.
pub(super) fn rows(db: &mut Db, key: &Key) -> QueryResult<Vec<BoardRow>> {
    let text = match key.scope {
        0 => {
            "SELECT b.user_id, b.username, b.points_centi, b.minutes, b.sessions, b.reached_at FROM board b \
             JOIN user_settings s ON s.user_id = b.user_id AND s.leaderboard_opt_in \
             WHERE scope = $1 AND period = $2 AND start = $3 AND points_centi > 0 \
             ORDER BY b.points_centi DESC, b.reached_at, b.user_id LIMIT $4"
        }
        _ => {
            "SELECT b.user_id, b.username, b.points_centi, b.minutes, b.sessions, b.reached_at FROM board b \
             WHERE scope = $1 AND period = $2 AND start = $3 AND points_centi > 0 \
             ORDER BY b.points_centi DESC, b.reached_at, b.user_id LIMIT $4"
        }
    };
    let best = diesel::sql_query(text)
        .bind::<BigInt, _>(key.scope)
        .bind::<Text, _>(key.period.name())
        .bind::<Date, _>(key.start)
        .bind::<BigInt, _>(MOST);
    cached::<(BigInt, Text, BigInt, BigInt, BigInt, Timestamp), _>(best).load(db)
}

/// Up to `limit` boards of periods that are over for long: scope, period and first day.
pub(super) fn old_boards(
    db: &mut Db,
    today: NaiveDate,
    limit: i64,
) -> QueryResult<Vec<(i64, String, NaiveDate)>> {
    let old = diesel::sql_query(
        "SELECT DISTINCT scope, period, start FROM board WHERE (period = 'day' AND start < $1) \
         OR (period = 'week' AND start < $2) OR (period = 'month' AND start < $3) LIMIT $4",
    );
    let old = old
        .bind::<Date, _>(oldest_kept("day", today))
        .bind::<Date, _>(oldest_kept("week", today))
        .bind::<Date, _>(oldest_kept("month", today))
        .bind::<BigInt, _>(limit);
    cached::<(BigInt, Text, Date), _>(old).load(db)
}

/// Drops a board.
pub(super) fn drop_board(
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

/// Drops the boards of a team that is gone.
pub(crate) fn drop_boards_of(db: &mut Db, team: TeamId) -> QueryResult<usize> {
    diesel::delete(board::table.filter(board::scope.eq(team.get()))).execute(db)
}
