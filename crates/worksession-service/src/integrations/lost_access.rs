use auth_types::{TeamId, UserId};

use super::Integration;

/// The access that the creator of integrations lost, for which they are paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LostAccess {
    /// OAuth clients lost access to the account, or sign-in sessions ended.
    Credentials {
        user: UserId,
        clients: Vec<String>,
        sessions: Vec<String>,
    },
    /// The user no longer manages the team.
    Role { user: UserId, team: TeamId },
    /// The account is deactivated or deleted. This pauses integrations of teams, not the account's own.
    Account { user: UserId },
    /// The caller who configured this integration lost access, as found by the check after the commit.
    Integration {
        user: UserId,
        integration: Integration,
    },
}

impl LostAccess {
    pub(crate) fn user(&self) -> UserId {
        match self {
            Self::Credentials { user, .. }
            | Self::Role { user, .. }
            | Self::Account { user }
            | Self::Integration { user, .. } => *user,
        }
    }

    /// Returns the reason, as text for users.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Credentials { .. } | Self::Integration { .. } => {
                "The application or sign-in that set it up no longer has access"
            }
            Self::Role { .. } => "The person who set it up no longer manages the team",
            Self::Account { .. } => "The account that set it up was deactivated or deleted",
        }
    }
}
