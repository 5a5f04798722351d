use auth_types::UserId;
use chrono::{Duration, NaiveDateTime};
use diesel::prelude::*;
use uuid::Uuid;

use crate::access::{Grant, GrantRow};
use crate::origin::Origin;
use crate::schema::{oauth_clients, sessions};
use crate::tokens::refresh::RefreshToken;

/// A session that is not refreshed for this long is over.
pub(crate) const IDLE_LIFE: Duration = Duration::days(90);

/// Generations below a handed-over session. A site may open sessions one from another for as long as its sign-in lasts.
const MAX_DEPTH: usize = 20;

/// A session that begins, with its first refresh token in clear.
pub(crate) struct NewSession {
    pub(crate) id: String,
    pub(crate) refresh_token: RefreshToken,
    pub(crate) grant: Grant,
    pub(super) opened_at: NaiveDateTime,
    pub(super) authenticated_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
    /// Whether another session vouches for it, and no password was shown.
    pub(super) is_derived: bool,
    /// The handed-over sessions that it descends from, nearest first.
    ancestors: Vec<String>,
    pub(super) address: Option<String>,
    pub(super) user_agent: Option<String>,
}

impl NewSession {
    /// A session for what `grant` says, with as long a life as a session of that kind has.
    pub(crate) fn open(grant: Grant, now: NaiveDateTime, origin: &Origin) -> Self {
        let expires_at = now + grant.life();
        Self {
            grant,
            address: origin.address_text(),
            user_agent: origin.user_agent.clone(),
            id: Uuid::new_v4().to_string(),
            refresh_token: RefreshToken::generate(),
            opened_at: now,
            authenticated_at: now,
            expires_at,
            is_derived: false,
            ancestors: Vec::new(),
        }
    }

    /// The same, derived from a session whose owner showed at `at` who they are.
    pub(crate) fn authenticated(mut self, at: NaiveDateTime) -> Self {
        self.authenticated_at = at;
        self.is_derived = true;
        self
    }

    /// The same, ending when these sessions end, and no later than they expire. Nearest first.
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

    /// The session that it ends with. Below generation [`MAX_DEPTH`] a new session becomes a sibling, so the
    /// recursion stays bounded.
    pub(super) fn parent(&self) -> Option<&str> {
        let above = self.ancestors.len().saturating_sub(MAX_DEPTH);
        self.ancestors.get(above).map(String::as_str)
    }

    /// The same, over no later than `end`.
    pub(crate) fn until(mut self, end: NaiveDateTime) -> Self {
        self.expires_at = self.expires_at.min(end);
        self
    }
}

/// What validation needs to know of a session.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct SessionState {
    /// When the person last proved who they are, however often it was refreshed or handed over since.
    pub(crate) authenticated_at: NaiveDateTime,
    pub(crate) expires_at: NaiveDateTime,
    pub(crate) revoked_at: Option<NaiveDateTime>,
}

#[cfg(test)]
impl SessionState {
    /// A session that stands.
    pub(crate) fn sample() -> Self {
        let opened_at = NaiveDateTime::default();
        Self {
            authenticated_at: opened_at,
            expires_at: opened_at + crate::access::ABSOLUTE_LIFE,
            revoked_at: None,
        }
    }
}

/// A sign-in as its owner sees it.
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
    /// None for a client that is gone.
    #[diesel(select_expression = oauth_clients::name.nullable())]
    pub(super) client_name: Option<String>,
}

/// What refreshing needs to know of a session.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct RefreshRow {
    pub(crate) id: String,
    pub(crate) user_id: UserId,
    expires_at: NaiveDateTime,
    revoked_at: Option<NaiveDateTime>,
    refresh_hash: String,
    refresh_previous_hash: Option<String>,
    refresh_rotated_at: NaiveDateTime,
    refresh_expires_at: NaiveDateTime,
    #[diesel(embed)]
    pub(crate) grant: GrantRow,
}

/// What presenting a refresh token means that could not be rotated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Presented {
    /// The session is over.
    Dead,
    /// Rotated a moment ago, and the successor is still unused: the same successor again.
    Repeated,
    /// Used before: somebody holds a copy.
    Reused,
}

/// How long a rotated token may be presented again, for answers that were lost on the way.
const GRACE: Duration = Duration::seconds(30);

impl RefreshRow {
    /// Whether this is the refresh token that is good now.
    pub(crate) fn is_good(&self, presented: &RefreshToken, now: NaiveDateTime) -> bool {
        self.revoked_at.is_none() && now < self.ends_at() && presented.hash() == self.refresh_hash
    }

    /// When the session ends unless it is refreshed before.
    pub(crate) fn ends_at(&self) -> NaiveDateTime {
        self.expires_at.min(self.refresh_expires_at)
    }

    /// When the refresh token that is good now was made.
    pub(crate) fn rotated_at(&self) -> NaiveDateTime {
        self.refresh_rotated_at
    }

    /// Judges a token of this session's lineage at `now`.
    pub(crate) fn judge(
        &self,
        presented: &RefreshToken,
        successor: &RefreshToken,
        now: NaiveDateTime,
    ) -> Presented {
        let over = self.revoked_at.is_some() || self.ends_at() <= now;
        let hash = presented.hash();
        if over || hash == self.refresh_hash {
            return Presented::Dead;
        }
        let just_rotated = self.refresh_previous_hash.as_ref() == Some(&hash)
            && now - self.refresh_rotated_at <= GRACE;
        // The second half fails when the server key was changed in between: then there is no same token to give.
        if just_rotated && successor.hash() == self.refresh_hash {
            Presented::Repeated
        } else {
            Presented::Reused
        }
    }
}

/// Who presents a refresh token: each is good only in the hands it was given to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holder<'a> {
    /// The product's own clients and the sites that sign-ins were handed over to.
    Own,
    /// An OAuth client, by its id.
    Client(&'a str),
}

impl Holder<'_> {
    pub(super) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Client(id) => Some(id),
        }
    }

    pub(super) fn has(self, grant: &GrantRow) -> bool {
        match self {
            Self::Own => grant.kind != Grant::BROWSER && grant.kind != Grant::CLIENT,
            Self::Client(id) => {
                grant.kind == Grant::CLIENT && grant.client_id.as_deref() == Some(id)
            }
        }
    }
}
