use auth_types::ScopeSet;
use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::wire::Application;
use crate::error::Error;
use crate::oauth::scopes;
use crate::schema::{oauth_clients, oauth_consents, sessions};

/// The consent of an account for a client.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = oauth_consents)]
pub(crate) struct ConsentRow {
    pub(crate) client_id: String,
    #[diesel(select_expression = oauth_clients::name)]
    pub(crate) client_name: String,
    pub(crate) scope: String,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
}

/// A client's session for an account. The client may be deleted.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(super) struct ClientSessionRow {
    pub(super) client_id: Option<String>,
    #[diesel(select_expression = oauth_clients::name.nullable())]
    pub(super) client_name: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) created_at: NaiveDateTime,
    #[diesel(column_name = refresh_rotated_at)]
    pub(super) last_used_at: NaiveDateTime,
}

impl Application {
    pub(super) fn allowed(row: ConsentRow) -> Result<Self, Error> {
        Ok(Self {
            scope: scopes::read(&row.scope, "oauth_consents.scope")?,
            client_id: row.client_id,
            name: row.client_name,
            connected_at: row.created_at.and_utc(),
            last_used_at: None,
            sessions: 0,
        })
    }

    /// Returns the application of a session, or `None` if no client holds the session.
    pub(super) fn of_session(row: &ClientSessionRow) -> Option<Self> {
        let client_id = row.client_id.clone()?;
        Some(Self {
            name: row.client_name.clone().unwrap_or_else(|| client_id.clone()),
            client_id,
            scope: ScopeSet::default(),
            connected_at: row.created_at.and_utc(),
            last_used_at: None,
            sessions: 0,
        })
    }

    pub(super) fn count(&mut self, row: &ClientSessionRow) -> Result<(), Error> {
        let scope = scopes::read(row.scope.as_deref().unwrap_or_default(), "sessions.scope")?;
        self.scope = self.scope.union(scope);
        self.connected_at = self.connected_at.min(row.created_at.and_utc());
        self.last_used_at = self.last_used_at.max(Some(row.last_used_at.and_utc()));
        self.sessions = self.sessions.saturating_add(1);
        Ok(())
    }
}
