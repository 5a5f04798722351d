use auth_types::wire::TeamMembership;
use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, Utc};

/// The account behind a request, as the identity service vouched for it.
#[derive(Debug, Clone)]
pub(crate) struct CurrentUser {
    /// The account.
    pub(crate) id: UserId,
    /// Its name.
    pub(crate) username: String,
    /// May be the placeholder address; null without the scope `email`.
    pub(crate) email: Option<String>,
    /// The teams it belongs to now.
    pub(crate) teams: Vec<TeamMembership>,
    /// The token's `exp`.
    pub(crate) token_expires_at: DateTime<Utc>,
    /// Space-separated scopes of an OAuth token; none for a first-party token, which may do everything here.
    pub(crate) scope: Option<String>,
}

impl CurrentUser {
    /// The user's membership of that team.
    #[must_use]
    pub(crate) fn membership(&self, team: TeamId) -> Option<&TeamMembership> {
        self.teams.iter().find(|membership| membership.id == team)
    }

    /// Whether the user may change what belongs to that team.
    #[must_use]
    pub(crate) fn manages(&self, team: TeamId) -> bool {
        self.membership(team)
            .is_some_and(|membership| membership.role >= TeamRole::Admin)
    }

    /// Whether the token carries that scope, or is a first-party one.
    #[must_use]
    pub(crate) fn has_scope(&self, name: &str) -> bool {
        self.scope
            .as_deref()
            .is_none_or(|granted| granted.split(' ').any(|scope| scope == name))
    }
}
