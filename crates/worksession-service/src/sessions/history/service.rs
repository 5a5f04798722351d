use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;

use super::queries::{self, ListArguments, ListStrategy};
use super::wire::{SessionFilter, SessionsResponse};
use crate::app_state::AppState;
use crate::error::Error;
use crate::pagination::{SessionCursor, truncate_page};
use crate::sessions::model::{self, SessionStatus};
use crate::sessions::record::RecordRow;

/// Lists a page of the user's sessions, newest first. A filter searches at most 10,000 sessions and returns where it
/// stopped: a request costs the same however long the history is.
pub(super) async fn list(
    state: &AppState,
    user: UserId,
    filter: SessionFilter,
) -> Result<SessionsResponse, Error> {
    let read = move |db: &mut Db| {
        let (from, until) = filter.range.starts(db, user)?;
        let strategy = filter.strategy();
        let arguments = filter.arguments(user, from, SessionCursor::before(until));
        let mut rows = queries::list(db, strategy, &arguments)?;
        let next = if truncate_page(&mut rows, filter.limit) {
            rows.last()
                .map(|row| SessionCursor::new(row.started_at, &row.session_id))
        } else {
            queries::find_search_end(db, strategy, &arguments)?
        };
        Ok(SessionsResponse::new(rows, next.as_ref()))
    };
    state.read(read).await
}

pub(super) async fn get(state: &AppState, user: UserId, id: &str) -> Result<RecordRow, Error> {
    let id = model::parse_session_id(id)?;
    let row = state.read(move |db| queries::find(db, user, &id)).await?;
    row.ok_or(Error::SessionNotFound)
}

impl SessionFilter {
    fn strategy(&self) -> ListStrategy {
        match &self.statuses {
            Some(statuses) if statuses.iter().all(|status| status.is_open()) => ListStrategy::Open,
            None if self.project.is_none() && self.category.is_none() && self.tag.is_none() => {
                ListStrategy::Plain
            }
            _ => ListStrategy::Filtered,
        }
    }

    fn arguments(&self, user: UserId, from: NaiveDateTime, until: SessionCursor) -> ListArguments {
        // The cursor may come from a request with a longer range.
        let until = match &self.after {
            Some(after) if *after < until => after.clone(),
            _ => until,
        };
        let names = |statuses: &Vec<SessionStatus>| {
            let names = statuses.iter().map(|status| status.as_str());
            format!(",{},", names.collect::<Vec<_>>().join(","))
        };
        ListArguments {
            user_id: user,
            from,
            until,
            statuses: self.statuses.as_ref().map(names),
            project_id: self.project.map(|project| project.to_string()),
            category: self.category.clone(),
            tag: self.tag.clone(),
            limit: self.limit + 1,
        }
    }
}
