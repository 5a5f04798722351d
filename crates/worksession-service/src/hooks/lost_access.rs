use auth_types::{TeamId, UserId};

use super::Hook;

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
