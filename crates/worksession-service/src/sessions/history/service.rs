use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;

use super::queries::{self, ListArguments, ListStrategy};
use super::wire::{Filter, SessionsResponse};
use crate::error::Error;
use crate::page::{SessionCursor, cut};
use crate::sessions::model::{self, SessionStatus};
use crate::sessions::record::RecordRow;
use crate::state::AppState;

/// Lists a page of the user's sessions, newest first. A filter searches at most 10,000 sessions and returns where it
/// stopped: a request costs the same however long the history is.
pub(super) async fn list(
    state: &AppState,
    user: UserId,
    filter: Filter,
) -> Result<SessionsResponse, Error> {
    let read = move |db: &mut Db| {
        let (from, until) = filter.span.starts(db, user)?;
        let look = filter.look();
        let arguments = filter.arguments(user, from, SessionCursor::at(until));
        let mut rows = queries::list(db, look, &arguments)?;
        let next = if cut(&mut rows, filter.limit) {
            rows.last()
                .map(|row| SessionCursor::of(row.started_at, &row.session_id))
        } else {
            queries::last_looked_at(db, look, &arguments)?
        };
        Ok(SessionsResponse::new(rows, next.as_ref()))
    };
    state.read(read).await
}

pub(super) async fn get(state: &AppState, user: UserId, id: &str) -> Result<RecordRow, Error> {
    let id = model::session_id(id)?;
    let found = state.read(move |db| queries::find(db, user, &id)).await?;
    found.ok_or(Error::SessionNotFound)
}

impl Filter {
    fn look(&self) -> ListStrategy {
        match &self.statuses {
            Some(statuses) if statuses.iter().all(|status| status.is_open()) => ListStrategy::Open,
            None if self.project.is_none() && self.category.is_none() && self.tag.is_none() => {
                ListStrategy::Plain
            }
            _ => ListStrategy::Filtered,
        }
    }

    fn arguments(&self, user: UserId, from: NaiveDateTime, until: SessionCursor) -> ListArguments {
        // The cursor may come from a request with a longer span.
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
