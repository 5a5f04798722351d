use auth_types::TeamId;
use chrono::NaiveDate;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text, Timestamp};

use super::board::BoardRow;
use super::kept::Key;
use crate::rollups::rebuild::oldest_kept;
use crate::schema::board;
use db_kit::statement::{Statement, arguments};

/// Users on one board at most: who comes after them has no rank.
const MOST: i64 = 100_000;

arguments! {
    struct BoardArguments {
        scope: i64 as BigInt,
        period: &'static str as Text,
        start: NaiveDate as Date,
        most: i64 as BigInt,
    }
}

/// The best of a board. On that of everybody only who opted in, as it is now.
pub(super) fn rows(db: &mut Db, key: &Key) -> QueryResult<Vec<BoardRow>> {
    macro_rules! text {
        ($opted_in:literal) => {
            concat!(
                "SELECT b.user_id, b.username, b.points_centi, b.minutes, b.sessions, b.reached_at \
                 FROM a JOIN board b ON scope = (SELECT p_scope FROM a) AND period = (SELECT p_period FROM a) \
                 AND start = (SELECT p_start FROM a) AND points_centi > 0 ",
                $opted_in,
                " ORDER BY b.points_centi DESC, b.reached_at, b.user_id LIMIT (SELECT p_most FROM a)"
            )
        };
    }
    let text = if key.scope == 0 {
        text!("JOIN user_settings s ON s.user_id = b.user_id AND s.leaderboard_opt_in")
    } else {
        text!("")
    };
    let arguments = BoardArguments {
        scope: key.scope,
        period: key.period.name(),
        start: key.start,
        most: MOST,
    };
    type Columns = (BigInt, Text, BigInt, BigInt, BigInt, Timestamp);
    Statement::<_, Columns>::new(text, &arguments).load(db)
}

arguments! {
    struct OldArguments {
        day: NaiveDate as Date,
        week: NaiveDate as Date,
        month: NaiveDate as Date,
        limit: i64 as BigInt,
    }
}

/// Up to `limit` boards of periods that are over for long: scope, period and first day.
pub(super) fn old_boards(
    db: &mut Db,
    today: NaiveDate,
    limit: i64,
) -> QueryResult<Vec<(i64, String, NaiveDate)>> {
    const TEXT: &str = "SELECT DISTINCT scope, period, start FROM a JOIN board \
        ON (period = 'day' AND start < p_day) OR (period = 'week' AND start < p_week) \
        OR (period = 'month' AND start < p_month) LIMIT (SELECT p_limit FROM a)";
    let arguments = OldArguments {
        day: oldest_kept("day", today),
        week: oldest_kept("week", today),
        month: oldest_kept("month", today),
        limit,
    };
    Statement::<_, (BigInt, Text, Date)>::new(|| TEXT, &arguments).load(db)
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
