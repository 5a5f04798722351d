use auth_types::wire::{TeamMembership, is_placeholder};
use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, Utc};

/// The account behind a request, as the identity service vouched for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentUser {
    pub(crate) id: UserId,
    pub(crate) username: String,
    /// May be the placeholder address; null without the scope `email`.
    pub(crate) email: Option<String>,
    /// Whether the address was proven.
    pub(crate) email_verified: bool,
    /// The teams it belongs to now.
    pub(crate) teams: Vec<TeamMembership>,
    /// The token's `exp`.
    pub(crate) token_expires_at: DateTime<Utc>,
    /// Space-separated scopes of an OAuth client's token; none for all others, which scopes do not limit.
    pub(crate) scope: Option<String>,
    /// The sign-in that the token is of, where the identity service says so.
    pub(crate) session_id: Option<String>,
    /// The OAuth client that it was issued to, also one of the product's own.
    pub(crate) client_id: Option<String>,
    /// Whether the token is of a sign-in at the product itself or of a client of its own: neither an OAuth
    /// client's nor one that single sign-on handed over.
    pub(crate) is_first_party: bool,
}

impl CurrentUser {
    /// The address, when it is known to be the user's.
    #[must_use]
    pub(crate) fn proven_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified)
    }

    /// The address as the token's holder may be told it: the placeholder is for the account itself.
    #[must_use]
    pub(crate) fn email_to_show(&self) -> Option<&str> {
        let email = self.email.as_deref();
        email.filter(|email| self.scope.is_none() || !is_placeholder(email))
    }

    /// The user's membership of that team.
    #[must_use]
    pub(crate) fn membership(&self, team: TeamId) -> Option<&TeamMembership> {
        self.teams.iter().find(|membership| membership.id == team)
    }

    /// The user's membership of the team with that slug, whatever its case.
    #[must_use]
    pub(crate) fn team(&self, slug: &str) -> Option<&TeamMembership> {
        let named = |team: &&TeamMembership| team.slug.eq_ignore_ascii_case(slug);
        self.teams.iter().find(named)
    }

    /// Whether the user may change what belongs to that team.
    #[must_use]
    pub(crate) fn manages(&self, team: TeamId) -> bool {
        self.membership(team)
            .is_some_and(|membership| membership.role >= TeamRole::Admin)
    }

    /// Whether the token carries that scope, or is limited by none.
    #[must_use]
    pub(crate) fn has_scope(&self, name: &str) -> bool {
        self.scope
            .as_deref()
            .is_none_or(|granted| granted.split(' ').any(|scope| scope == name))
    }
}
