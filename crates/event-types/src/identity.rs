use auth_types::{TeamId, TeamRole, UserId};
use serde::{Deserialize, Serialize};

/// `identity.session_revoked.v1`: sign-ins that are over; no token of theirs is good any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionRevoked {
    /// Whose they were.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub user_id: UserId,
    /// Their ids, the `sid` claim of their tokens; at most [`SessionRevoked::MAX_SIDS`].
    pub sids: Vec<String>,
    /// The ids of OAuth clients that may change no hook of the account any more; at most [`SessionRevoked::MAX_CLIENTS`].
    #[serde(default)]
    pub clients: Vec<String>,
}

impl SessionRevoked {
    /// The most sessions in one event; more make several events.
    pub const MAX_SIDS: usize = 500;
    /// The most clients in one event: each had a session in it, or is the only one.
    pub const MAX_CLIENTS: usize = Self::MAX_SIDS;
}

/// `identity.user_changed.v1`: an account is not what it was; ask for it again, or forget it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UserChanged {
    /// The account.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub user_id: UserId,
    /// It is gone for good, and what belongs to it should go too. Its id is never given out again.
    pub deleted: bool,
    /// False when it is deactivated or gone.
    #[serde(default = "yes")]
    pub is_active: bool,
}

/// The value in events from before this field existed.
fn yes() -> bool {
    true
}

/// A team as events name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TeamRef {
    /// Never given out twice.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub id: TeamId,
    /// Its name in paths.
    pub slug: String,
    /// What people call it.
    pub name: String,
}

/// `identity.membership_changed.v1`: what an account is in a team. That a team is deleted is told by
/// [`TeamChanged`] alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MembershipChanged {
    /// The account.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub user_id: UserId,
    /// The team.
    pub team: TeamRef,
    /// What it is now; null when it is no member any more.
    #[cfg_attr(test, schemars(with = "Option<crate::schemas::Role>"))]
    pub role: Option<TeamRole>,
}

/// `identity.team_changed.v1`: a team was made, renamed or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TeamChanged {
    /// The team, as it is now or was last.
    pub team: TeamRef,
    /// It is gone for good, and with it every membership: no `membership_changed` is told for each. Its
    /// projects are archived, running sessions may finish.
    pub deleted: bool,
}
