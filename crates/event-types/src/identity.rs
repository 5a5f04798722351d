use auth_types::{TeamId, TeamRole, UserId};
use serde::{Deserialize, Serialize};

/// `identity.session_revoked.v1`: sign-in sessions that have ended and OAuth clients that have lost their access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionRevoked {
    /// The account that the sessions and clients belonged to.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub user_id: UserId,
    /// The ids of the sessions, the `sid` claim of their tokens; at most [`SessionRevoked::MAX_SIDS`].
    pub sids: Vec<String>,
    /// The OAuth clients that may no longer change the account's integrations; at most [`SessionRevoked::MAX_CLIENTS`].
    #[serde(default)]
    pub clients: Vec<String>,
}

impl SessionRevoked {
    /// The most sessions in one event. More sessions make several events.
    pub const MAX_SIDS: usize = 500;
    /// The most clients in one event. Each client had a session in the event, or is the event's only client.
    pub const MAX_CLIENTS: usize = Self::MAX_SIDS;
}

/// `identity.user_changed.v1`: an account changed. Read it again, or delete what is stored about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserChanged {
    /// The account.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub user_id: UserId,
    /// Whether the account is deleted, and its data should be deleted too. An id is never used again.
    pub deleted: bool,
    /// False when the account is deactivated or deleted.
    #[serde(default = "yes")]
    pub is_active: bool,
}

/// The value for events that were published before the field existed.
fn yes() -> bool {
    true
}

/// A team in an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TeamRef {
    /// The id of the team, which is never used again.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub id: TeamId,
    /// The team's name in paths.
    pub slug: String,
    /// The team's name that users see.
    pub name: String,
}

/// `identity.membership_changed.v1`: the role of an account in a team changed. The deletion of a team is reported by
/// [`TeamChanged`] alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MembershipChanged {
    /// The account.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub user_id: UserId,
    /// The team.
    pub team: TeamRef,
    /// The new role; null when the account is no longer a member.
    #[cfg_attr(test, schemars(with = "Option<crate::schemas::Role>"))]
    pub role: Option<TeamRole>,
}

/// `identity.team_changed.v1`: a team was created, renamed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TeamChanged {
    /// The team as it is now, or was before its deletion.
    pub team: TeamRef,
    /// Whether the team is deleted, and with it every membership; no `membership_changed` follows. Its projects are
    /// archived, and running sessions may finish.
    pub deleted: bool,
}
