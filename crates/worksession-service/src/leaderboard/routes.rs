use actix_web::web;
use service_kit::Problem;
use service_kit::http::{Query, endpoint};

use super::model::LeaderboardCursor;
use super::service;
use super::wire::{LeaderboardQuery, LeaderboardResponse};
use crate::app_state::State;
use crate::auth::{Caller, SessionsRead};
use crate::error::{Error, ErrorBody};

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/leaderboard").get(get));
}

/// Returns a leaderboard: of everybody who opted in or, with the scope `teams`, of a team. Suspect sessions do not count.
#[utoipa::path(
    get, path = "/api/leaderboard", operation_id = "getLeaderboard", tag = "user", params(LeaderboardQuery), security(("bearer" = ["sessions:read"])),
    responses(
        (status = 200, description = "A page of the leaderboard", body = LeaderboardResponse),
        (status = 400, description = "The period, limit or cursor is invalid", body = ErrorBody),
        (status = 403, description = "Not authorized to access this team's leaderboard", body = ErrorBody),
    )
)]
pub(crate) async fn get(
    state: State,
    caller: Caller<SessionsRead>,
    query: Result<Query<LeaderboardQuery>, Problem>,
) -> Result<web::Json<LeaderboardResponse>, Error> {
    let query = query?.0;
    // Authorization comes before the rest of the query.
    let scope = service::check_scope(&caller, query.team.as_deref())?;
    let (period, limit) = (query.period()?, query.limit()?);
    let after = query
        .cursor
        .as_deref()
        .map(LeaderboardCursor::parse)
        .transpose()?;
    let board = service::load_board(&state, scope, period).await?;
    let (entries, next_cursor) = board.page(after, limit);
    Ok(web::Json(LeaderboardResponse {
        success: true,
        period,
        entries,
        me: board.entry(caller.id),
        next_cursor,
    }))
}
