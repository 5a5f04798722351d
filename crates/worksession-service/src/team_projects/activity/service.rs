use std::sync::Arc;

use db_kit::Db;
use service_kit::Problem;
use service_kit::http::Query;

use super::queries;
use super::wire::{ActivityQuery, ActivityResponse};
use crate::app_state::AppState;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::pagination::{SessionCursor, page_size, truncate_page};
use crate::projects::TeamProjectId;
use crate::team_projects::get_as_member;

/// Lists a page of the team's sessions on the project, archived or not, for its members.
pub(super) async fn list(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    query: Result<Query<ActivityQuery>, Problem>,
) -> Result<ActivityResponse, Error> {
    let read = move |db: &mut Db| {
        // Authorization comes before the query.
        get_as_member(db, id, &caller)?;
        let query = query?.0;
        let limit = page_size(query.limit)?;
        let until = query
            .cursor
            .map_or_else(|| Ok(SessionCursor::last()), |cursor| cursor.parse())?;
        let mut rows = queries::list_newest(db, id, until, limit + 1)?;
        let has_more = truncate_page(&mut rows, limit);
        let last = rows
            .last()
            .filter(|_| has_more)
            .map(|row| SessionCursor::new(row.started_at.naive_utc(), &row.session_id));
        Ok(ActivityResponse::new(rows, last.as_ref()))
    };
    state.pool.read(read).await
}
