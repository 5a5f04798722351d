use std::sync::Arc;

use chrono::TimeDelta;
use db_kit::Db;

use super::queries;
use super::wire::{TeamActivityQuery, TeamActivityResponse};
use crate::app_state::AppState;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::rules::credit::MAX_SESSION;
use crate::rules::time::parse_instant;

/// How far back `since` may be.
const MAX_AGE: TimeDelta = TimeDelta::days(31);

/// Returns the team's running sessions and its totals since a time, for its members.
///
/// # Errors
/// 403 for a team that the caller is not in, whether or not it exists. 400 for an invalid time, or one too long ago.
pub(super) async fn show(
    state: &AppState,
    caller: Arc<CurrentUser>,
    query: TeamActivityQuery,
) -> Result<TeamActivityResponse, Error> {
    let team = caller.team(query.team.as_deref().unwrap_or_default());
    let team = team.ok_or(Error::TeamActivityForbidden)?.clone();
    let now = state.clock.now_naive();
    let since = match query.since.as_deref().filter(|text| !text.is_empty()) {
        None => Some(now - TimeDelta::days(7)),
        // One minute more than the limit, for requests that were under way.
        Some(text) => parse_instant(text)
            .filter(|since| (now - MAX_AGE - TimeDelta::minutes(1)..=now).contains(since)),
    };
    let since =
        since.ok_or_else(|| Error::invalid("since must be a time within the last 31 days"))?;
    let id = team.id;
    let read = move |db: &mut Db| {
        let members = queries::list_members(db, id, since)?;
        let running = queries::list_running(db, id, now - MAX_SESSION, now)?;
        Ok::<_, Error>((members, running))
    };
    let (members, running) = state.pool.read(read).await?;
    Ok(TeamActivityResponse::new(&team, since, members, running))
}
