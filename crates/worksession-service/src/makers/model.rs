use auth_types::{TeamId, UserId};
use diesel::prelude::*;

use crate::auth::CurrentUser;
use crate::contacts::Hook;

/// What made a hook has ended.
pub(crate) const PAUSED: &str = "paused";

/// Who made or last changed a hook, and what with.
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
        let is_client = !caller.is_first_party && caller.scope.is_some();
        let is_handed_over = !is_client && !caller.is_first_party;
        // Where the identity service does not say which, it is one all the same, and not the product itself.
        let name = |id: &Option<String>| id.clone().unwrap_or_default();
        Self {
            created_by: Some(caller.id),
            client_id: is_client.then(|| name(&caller.client_id)),
            session_id: is_handed_over.then(|| name(&caller.session_id)),
        }
    }

    /// Whether the caller may know and change what was made so: a client, or a sign-in that was handed over, only what it
    /// made itself.
    pub(crate) fn is_open_to(&self, caller: &CurrentUser) -> bool {
        let theirs = Self::of(caller);
        caller.is_first_party
            || (self.client_id.is_some() && self.client_id == theirs.client_id)
            || (self.session_id.is_some() && self.session_id == theirs.session_id)
    }
}

/// What hooks were made with is not good any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Withdrawn {
    /// OAuth clients without access to the account, and sign-ins that are over.
    Access {
        user: UserId,
        clients: Vec<String>,
        sessions: Vec<String>,
    },
    /// The user manages the team no more.
    Role { user: UserId, team: TeamId },
    /// The account is deactivated or gone; its own hooks are not meant.
    Account { user: UserId },
    /// What the user made this hook with.
    Hook { user: UserId, hook: Hook },
}

impl Withdrawn {
    pub(crate) fn user(&self) -> UserId {
        match self {
            Self::Access { user, .. }
            | Self::Role { user, .. }
            | Self::Account { user }
            | Self::Hook { user, .. } => *user,
        }
    }

    /// Why, for people.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Access { .. } | Self::Hook { .. } => {
                "The application or the sign-in that made it has no access any more"
            }
            Self::Role { .. } => "The one who made it does not manage the team any more",
            Self::Account { .. } => "The account that made it is deactivated or gone",
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
