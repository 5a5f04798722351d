//! The list of an account's sessions, for its owner.

use super::model::SessionRow;
use super::queries;
use super::wire::{SessionClient, SessionEntry, SessionsQuery, SessionsResponse};
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::pagination::{PAGE, bounds};

pub(crate) async fn list_sessions(
    app: &App,
    caller: &CurrentUser,
    page: SessionsQuery,
) -> Result<SessionsResponse, Error> {
    let page = bounds(page.limit, page.offset, PAGE)?;
    let (user_id, now) = (caller.account.id, app.clock.now_naive());
    let (rows, total) = app
        .read(move |db| queries::list_live(db, user_id, page, now))
        .await?;
    let current = &caller.token.session_id;
    let sessions = rows.into_iter().map(|row| row.into_wire(current)).collect();
    Ok(SessionsResponse { sessions, total })
}

impl SessionRow {
    fn into_wire(self, current: &str) -> SessionEntry {
        SessionEntry {
            current: self.id == current,
            id: self.id,
            created_at: self.created_at.and_utc(),
            last_used_at: self.last_used_at.and_utc(),
            expires_at: self.expires_at.min(self.refresh_expires_at).and_utc(),
            kind: self.grant.kind,
            service: self.grant.service,
            client: self.grant.client_id.map(|id| SessionClient {
                name: self.client_name.unwrap_or_else(|| id.clone()),
                client_id: id,
                scope: self.grant.scope.unwrap_or_default(),
            }),
            address: self.address,
            user_agent: self.user_agent,
        }
    }
}
