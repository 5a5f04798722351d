use auth_types::{TeamId, UserId};
use diesel::prelude::*;

use crate::auth::CurrentUser;
use crate::contacts::Hook;

/// The status of a webhook or a chat in use.
pub(super) const ACTIVE: &str = "active";
/// The status of one whose maker lost access.
pub(crate) const PAUSED: &str = "paused";

/// Who said last where a hook calls, and what with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Queryable)]
pub(crate) struct Maker {
    pub(crate) created_by: Option<UserId>,
    /// The OAuth client, if it was one.
    pub(crate) client_id: Option<String>,
    /// The sign-in that single sign-on handed over, if it was one.
    pub(crate) session_id: Option<String>,
}

impl Maker {
    pub(crate) fn of(caller: &CurrentUser) -> Self {
        // An identity service of an earlier version does not name the client or the session: the id is empty then.
        let named = |id: &Option<String>| Some(id.clone().unwrap_or_default());
        let (client_id, session_id) = match (caller.is_first_party, &caller.scope) {
            (true, _) => (caller.client_id.clone(), None),
            (false, Some(_)) => (named(&caller.client_id), None),
            (false, None) => (None, named(&caller.session_id)),
        };
        Self {
            created_by: Some(caller.id),
            client_id,
            session_id,
        }
    }

    /// Whether the caller may know and change what was made so: a client, or a sign-in that was handed over, only what it
    /// made itself.
    pub(crate) fn is_open_to(&self, caller: &CurrentUser) -> bool {
        // Two clients without a name are not the same one.
        let is_same = |ours: &Option<String>, theirs: &Option<String>| {
            ours == theirs && ours.as_ref().is_some_and(|id| !id.is_empty())
        };
        let theirs = Self::of(caller);
        caller.is_first_party
            || is_same(&self.client_id, &theirs.client_id)
            || is_same(&self.session_id, &theirs.session_id)
    }
}

/// Why hooks are paused: what made them lost access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LostAccess {
    /// OAuth clients without access to the account, and sign-ins that are over.
    Credentials {
        user: UserId,
        clients: Vec<String>,
        sessions: Vec<String>,
    },
    /// The user manages the team no more.
    Role { user: UserId, team: TeamId },
    /// The account is deactivated or gone; its own hooks are not meant.
    Account { user: UserId },
    /// The caller who made or changed this hook, by the check after the commit.
    Hook { user: UserId, hook: Hook },
}

impl LostAccess {
    pub(crate) fn user(&self) -> UserId {
        match self {
            Self::Credentials { user, .. }
            | Self::Role { user, .. }
            | Self::Account { user }
            | Self::Hook { user, .. } => *user,
        }
    }

    /// Why, for people.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Credentials { .. } | Self::Hook { .. } => {
                "The application or sign-in that set it up no longer has access"
            }
            Self::Role { .. } => "The person who set it up no longer manages the team",
            Self::Account { .. } => "The account that set it up was deactivated or deleted",
        }
    }
}

/// A hook that was paused.
#[derive(Debug)]
pub(crate) struct Paused {
    pub(super) hook: Hook,
    pub(super) revision: i64,
    /// None for one of the user's own.
    pub(super) team: Option<TeamId>,
    /// What people call it.
    pub(super) name: String,
}
