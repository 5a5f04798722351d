use auth_types::wire::{TeamMembership, is_placeholder};
use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, Utc};

/// The account behind a request, as the identity service validated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentUser {
    pub(crate) id: UserId,
    pub(crate) username: String,
    /// The e-mail address, possibly the placeholder address; none without the scope `email`.
    pub(crate) email: Option<String>,
    /// Whether the e-mail address is verified.
    pub(crate) email_verified: bool,
    /// The teams of which the user is a member.
    pub(crate) teams: Vec<TeamMembership>,
    /// The token's expiry (`exp`).
    pub(crate) token_expires_at: DateTime<Utc>,
    /// The space-separated scopes of an OAuth client's token. Other tokens have none, and no scope limits them.
    pub(crate) scope: Option<String>,
    /// The sign-in session of the token (`sid`), if the identity service reports it.
    pub(crate) session_id: Option<String>,
    /// The OAuth client to which the token was issued, which can be a first-party client.
    pub(crate) client_id: Option<String>,
    /// Whether the token is from a sign-in at the product itself or from a first-party client. It is then not from another
    /// OAuth client or an SSO session.
    pub(crate) is_first_party: bool,
}

impl CurrentUser {
    /// Returns the e-mail address if it is verified.
    #[must_use]
    pub(crate) fn verified_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified)
    }

    /// Returns the e-mail address that the token may read. A token with scopes does not read the placeholder address.
    #[must_use]
    pub(crate) fn visible_email(&self) -> Option<&str> {
        let email = self.email.as_deref();
        email.filter(|email| self.scope.is_none() || !is_placeholder(email))
    }

    /// Returns the user's membership of the team.
    #[must_use]
    pub(crate) fn membership(&self, team: TeamId) -> Option<&TeamMembership> {
        self.teams.iter().find(|membership| membership.id == team)
    }

    /// Returns the user's membership of the team with this slug, ignoring ASCII case.
    #[must_use]
    pub(crate) fn team(&self, slug: &str) -> Option<&TeamMembership> {
        let named = |team: &&TeamMembership| team.slug.eq_ignore_ascii_case(slug);
        self.teams.iter().find(named)
    }

    /// Whether the user is the owner or an admin of the team.
    #[must_use]
    pub(crate) fn manages(&self, team: TeamId) -> bool {
        self.membership(team)
            .is_some_and(|membership| membership.role >= TeamRole::Admin)
    }

    /// Whether the token has the scope, or is not limited by scopes.
    #[must_use]
    pub(crate) fn has_scope(&self, name: &str) -> bool {
        self.scope
            .as_deref()
            .is_none_or(|granted| granted.split(' ').any(|scope| scope == name))
    }
}
