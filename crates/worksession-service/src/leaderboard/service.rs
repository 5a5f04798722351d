use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use db_kit::DbError;
use tokio::time::timeout;

use super::cache::LeaderboardKey;
use super::model::Leaderboard;
use super::queries;
use super::wire::Period;
use crate::app_state::AppState;
use crate::auth::{CurrentUser, RequiredScope, Teams};
use crate::error::Error;
use crate::rules::time::Periods;

/// How long a request waits for others that read boards; the same as for a connection.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns 0 for the leaderboard of everybody, or the id of the caller's team with that slug.
///
/// # Errors
/// 403 when the caller is not in the team, whether or not it exists, and for a token without the scope `teams`.
pub(super) fn check_scope(caller: &CurrentUser, team: Option<&str>) -> Result<i64, Error> {
    if team.is_some() && !Teams::is_granted_to(caller) {
        return Err(Error::InsufficientScope);
    }
    let team = team.map(|slug| caller.team(slug).ok_or(Error::LeaderboardForbidden));
    Ok(team.transpose()?.map_or(0, |team| team.id.get()))
}

/// Returns the leaderboard of everybody or of a team.
///
/// # Errors
/// When the database does not return it in time.
pub(super) async fn load_board(
    state: &AppState,
    scope: i64,
    period: Period,
) -> Result<Arc<Leaderboard>, Error> {
    let utc = Periods::new(state.clock.now_naive().date());
    let key = LeaderboardKey {
        scope,
        period,
        start: match period {
            Period::Day => utc.today,
            Period::Week => utc.week.0,
            Period::Month => utc.month.0,
            Period::All => NaiveDate::default(),
        },
    };
    if let Some(board) = state.boards.find(&key) {
        return Ok(board);
    }
    let reading = timeout(READ_TIMEOUT, state.boards.reading.lock()).await;
    let _reading = reading.map_err(|_| DbError::Busy)?;
    if let Some(board) = state.boards.find(&key) {
        return Ok(board);
    }
    let read = move |db: &mut _| Ok::<_, Error>(Leaderboard::new(queries::list_rows(db, &key)?));
    let board = Arc::new(state.pool.read(read).await?);
    state.boards.insert(key, &board);
    Ok(board)
}
