//! What a presented refresh token is: current, presented again within the grace period, or reused.

use auth_types::UserId;
use chrono::{Duration, NaiveDateTime};
use diesel::prelude::*;

use crate::schema::sessions;
use crate::token_access::{Grant, GrantRow};
use crate::tokens::refresh_token::RefreshToken;

/// The columns of a session that a refresh needs.
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

/// The meaning of a presented refresh token that could not be rotated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RefreshCheck {
    /// The session has ended, or its account may not sign in.
    Unusable,
    /// Rotated within the grace period, with an unused successor: the caller gets the same successor.
    Repeated,
    /// Rotated before and presented again (RFC 9700 section 4.14.2): somebody holds a copy.
    Reused,
}

/// How long a rotated token may be presented again, in case the response was lost.
const GRACE: Duration = Duration::seconds(30);

impl RefreshRow {
    /// Whether `presented` is the current refresh token of a live session.
    pub(crate) fn is_current(&self, presented: &RefreshToken, now: NaiveDateTime) -> bool {
        self.revoked_at.is_none() && now < self.ends_at() && presented.hash() == self.refresh_hash
    }

    /// Returns when the session ends if it is not refreshed.
    pub(crate) fn ends_at(&self) -> NaiveDateTime {
        self.expires_at.min(self.refresh_expires_at)
    }

    /// Returns when the current refresh token was issued.
    pub(crate) fn rotated_at(&self) -> NaiveDateTime {
        self.refresh_rotated_at
    }

    /// Classifies a token of this lineage that could not be rotated at `now`.
    pub(crate) fn classify(
        &self,
        presented: &RefreshToken,
        successor: &RefreshToken,
        now: NaiveDateTime,
    ) -> RefreshCheck {
        let over = self.revoked_at.is_some() || self.ends_at() <= now;
        let hash = presented.hash();
        // A current token that was not rotated: its account may not sign in.
        if over || hash == self.refresh_hash {
            return RefreshCheck::Unusable;
        }
        let just_rotated = self.refresh_previous_hash.as_ref() == Some(&hash)
            && now - self.refresh_rotated_at <= GRACE;
        // If the server key has changed since, the successor differs, and the same token cannot be returned.
        if just_rotated && successor.hash() == self.refresh_hash {
            RefreshCheck::Repeated
        } else {
            RefreshCheck::Reused
        }
    }
}

/// The party that presents a refresh token. A token is valid only from the party that received it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TokenHolder<'a> {
    /// The product's own clients, and sites with SSO sessions.
    Own,
    /// An OAuth client, by its id.
    Client(&'a str),
}

impl TokenHolder<'_> {
    pub(super) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Own => None,
            Self::Client(id) => Some(id),
        }
    }

    /// Whether a token of this grant belongs to the holder. `rotate.sql` and `rotate_many.postgres.sql` repeat the
    /// condition.
    pub(super) fn has(self, grant: &GrantRow) -> bool {
        match self {
            Self::Own => grant.kind != Grant::BROWSER && grant.kind != Grant::CLIENT,
            Self::Client(id) => {
                grant.kind == Grant::CLIENT && grant.client_id.as_deref() == Some(id)
            }
        }
    }
}
