use chrono::{Duration, NaiveDateTime};
use diesel::prelude::*;
use uuid::Uuid;

use crate::request_context::RequestContext;
use crate::schema::{oauth_clients, sessions};
use crate::token_access::{Grant, GrantRow};
use crate::tokens::refresh_token::RefreshToken;

/// A session ends if it is not refreshed for this long.
pub(crate) const IDLE_LIFE: Duration = Duration::days(90);

/// The most generations below an SSO session. A site may derive sessions from one another until its sign-in ends.
const MAX_DEPTH: usize = 20;

/// A session to be inserted, with its first refresh token in plain text.
pub(crate) struct NewSession {
    pub(crate) id: String,
    pub(crate) refresh_token: RefreshToken,
    pub(crate) grant: Grant,
    pub(super) opened_at: NaiveDateTime,
    pub(super) authenticated_at: NaiveDateTime,
    /// Whether the owner entered a code of their second factor when they authenticated.
    pub(crate) has_second_factor: bool,
    pub(super) expires_at: NaiveDateTime,
    /// Whether another session opened it, without a password.
    pub(super) is_derived: bool,
    /// The SSO sessions that it descends from, nearest first.
    ancestors: Vec<String>,
    /// The session in which the user authorized the session's client.
    pub(super) authorized_by: Option<String>,
    pub(super) address: Option<String>,
    pub(super) user_agent: Option<String>,
}

impl NewSession {
    /// Creates a session with the lifetime of its kind of grant.
    pub(crate) fn open(grant: Grant, now: NaiveDateTime, context: &RequestContext) -> Self {
        let expires_at = now + grant.life();
        Self {
            grant,
            address: context.address_text(),
            user_agent: context.user_agent.clone(),
            id: Uuid::new_v4().to_string(),
            refresh_token: RefreshToken::generate(),
            opened_at: now,
            authenticated_at: now,
            has_second_factor: false,
            expires_at,
            is_derived: false,
            ancestors: Vec::new(),
            authorized_by: None,
        }
    }

    /// Marks the session as derived from one whose owner authenticated at `at`.
    pub(crate) fn authenticated(mut self, at: NaiveDateTime) -> Self {
        self.authenticated_at = at;
        self.is_derived = true;
        self
    }

    /// Makes the client sign out with the session `sid`, in which the user authorized it.
    pub(crate) fn authorized_by(mut self, sid: &str) -> Self {
        self.authorized_by = Some(sid.to_owned());
        self
    }

    /// Makes the session end with these ancestors and expire no later than they do. They come nearest first.
    pub(crate) fn ending_with(mut self, ancestors: Vec<(String, NaiveDateTime)>) -> Self {
        for (sid, end) in ancestors {
            self.expires_at = self.expires_at.min(end);
            self.ancestors.push(sid);
        }
        self
    }

    pub(super) fn ancestors(&self) -> &[String] {
        &self.ancestors
    }

    /// Returns the session that this one ends with. Below generation [`MAX_DEPTH`], a new session becomes a sibling
    /// of its opener, so that the recursion stays bounded.
    pub(super) fn parent(&self) -> Option<&str> {
        let above = self.ancestors.len().saturating_sub(MAX_DEPTH);
        self.ancestors.get(above).map(String::as_str)
    }

    /// Limits the expiry to `end`.
    pub(crate) fn until(mut self, end: NaiveDateTime) -> Self {
        self.expires_at = self.expires_at.min(end);
        self
    }
}

/// The columns of a session that validation needs.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct SessionState {
    /// When the owner last authenticated. Refreshing and deriving sessions do not change it.
    pub(crate) authenticated_at: NaiveDateTime,
    pub(crate) expires_at: NaiveDateTime,
    pub(crate) revoked_at: Option<NaiveDateTime>,
}

#[cfg(test)]
impl SessionState {
    /// A valid session.
    pub(crate) fn sample() -> Self {
        let opened_at = NaiveDateTime::default();
        Self {
            authenticated_at: opened_at,
            expires_at: opened_at + crate::token_access::ABSOLUTE_LIFE,
            revoked_at: None,
        }
    }
}

/// A session as its owner sees it.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct SessionRow {
    pub(super) id: String,
    pub(super) created_at: NaiveDateTime,
    #[diesel(column_name = refresh_rotated_at)]
    pub(super) last_used_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
    pub(super) refresh_expires_at: NaiveDateTime,
    pub(super) address: Option<String>,
    pub(super) user_agent: Option<String>,
    #[diesel(embed)]
    pub(super) grant: GrantRow,
    /// `None` if the client was deleted.
    #[diesel(select_expression = oauth_clients::name.nullable())]
    pub(super) client_name: Option<String>,
}
