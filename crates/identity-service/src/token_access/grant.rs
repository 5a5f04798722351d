//! Session grants and the access of their tokens.

use auth_types::{Scope, ScopeSet};
use chrono::Duration;
use diesel::{Queryable, Selectable};

use crate::error::Error;
use crate::schema::sessions;

/// The lifetime of a session, however often its tokens are refreshed.
pub(crate) const ABSOLUTE_LIFE: Duration = Duration::days(365);
/// The lifetime of the hosted pages' sign-in cookie.
pub(crate) const COOKIE_LIFE: Duration = Duration::days(30);

/// What a session was opened for, which decides what its tokens may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grant {
    /// A sign-in at the product itself, with the full access of the account.
    FirstParty,
    /// The sign-in cookie of the hosted pages. The session has no tokens and is never refreshed.
    Browser,
    /// A session handed over to another site, which the label names.
    Sso {
        service: Option<String>,
        /// The site's origin; `None` for sessions from before it was recorded.
        site: Option<String>,
    },
    /// Access of an OAuth client that the account has consented to.
    Client(ClientAccess),
}

/// What an access token may be used for, according to its claims. Never more than the session's grant allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenAccess {
    /// The full access of the account.
    Full,
    /// The access of a site that a session was handed over to, with the site's origin.
    Sso { site: Option<String> },
    /// The access of an OAuth client with these scopes.
    Client(ClientAccess),
}

/// The access of an OAuth client to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientAccess {
    pub(crate) client_id: String,
    pub(crate) scope: ScopeSet,
    pub(crate) is_first_party: bool,
}

impl Grant {
    const FIRST_PARTY: &'static str = "first_party";
    pub(crate) const BROWSER: &'static str = "browser";
    pub(crate) const SSO: &'static str = "sso";
    pub(crate) const CLIENT: &'static str = "client";

    /// Returns the value of `sessions.kind`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::FirstParty => Self::FIRST_PARTY,
            Self::Browser => Self::BROWSER,
            Self::Sso { .. } => Self::SSO,
            Self::Client(_) => Self::CLIENT,
        }
    }

    pub(crate) fn service(&self) -> Option<&str> {
        match self {
            Self::Sso { service, .. } => service.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn site(&self) -> Option<&str> {
        match self {
            Self::Sso { site, .. } => site.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Client(client) => Some(&client.client_id),
            _ => None,
        }
    }

    pub(crate) fn scope(&self) -> Option<ScopeSet> {
        match self {
            Self::Client(client) => Some(client.scope),
            _ => None,
        }
    }

    pub(crate) fn life(&self) -> Duration {
        match self {
            Self::Browser => COOKIE_LIFE,
            _ => ABSOLUTE_LIFE,
        }
    }

    /// Returns the access of this session's tokens.
    pub(crate) fn access(&self) -> TokenAccess {
        match self {
            Self::FirstParty | Self::Browser => TokenAccess::Full,
            Self::Sso { site, .. } => TokenAccess::Sso { site: site.clone() },
            Self::Client(client) => TokenAccess::Client(client.clone()),
        }
    }
}

/// The columns of a session that hold its grant, without those of its OAuth client.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = sessions)]
pub(crate) struct GrantRow {
    pub(crate) kind: String,
    pub(crate) service: Option<String>,
    pub(crate) client_id: Option<String>,
    pub(crate) scope: Option<String>,
    #[diesel(column_name = sso_origin)]
    pub(crate) site: Option<String>,
}

impl GrantRow {
    /// Returns the grant of a session without an OAuth client, and `None` for one that a client holds.
    pub(crate) fn own(self) -> Result<Option<Grant>, Error> {
        match self.kind.as_str() {
            Grant::FIRST_PARTY => Ok(Some(Grant::FirstParty)),
            Grant::BROWSER => Ok(Some(Grant::Browser)),
            Grant::SSO => Ok(Some(Grant::Sso {
                service: self.service,
                site: self.site,
            })),
            Grant::CLIENT => Ok(None),
            _ => Err(Error::internal("sessions.kind", self.kind)),
        }
    }
}

impl TokenAccess {
    /// Returns the claim `origin` of a token.
    pub(crate) fn origin(&self) -> Option<&'static str> {
        match self {
            Self::Sso { .. } => Some("sso"),
            Self::Client(client) if client.is_first_party => Some("first_party"),
            Self::Full | Self::Client(_) => None,
        }
    }

    /// Returns the claim `sso_origin` of a token.
    pub(crate) fn site(&self) -> Option<&str> {
        match self {
            Self::Sso { site } => site.as_deref(),
            _ => None,
        }
    }

    /// Builds the access from a token's claims. Returns `None` for a combination that this service never issues.
    pub(crate) fn of_claims(
        client_id: Option<String>,
        scope: Option<&str>,
        origin: Option<&str>,
        site: Option<String>,
    ) -> Option<Self> {
        match (client_id, scope, origin, site) {
            (None, None, None, None) => Some(Self::Full),
            (None, None, Some("sso"), site) => Some(Self::Sso { site }),
            (Some(client_id), Some(scope), None | Some("first_party"), None) => {
                Some(Self::Client(ClientAccess {
                    client_id,
                    scope: scope.parse().ok()?,
                    is_first_party: origin.is_some(),
                }))
            }
            _ => None,
        }
    }

    pub(crate) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Client(client) => Some(&client.client_id),
            Self::Full | Self::Sso { .. } => None,
        }
    }

    /// Returns the scopes of an OAuth client's token, or `None` if no scopes limit the token.
    pub(crate) fn scope(&self) -> Option<ScopeSet> {
        match self {
            Self::Client(client) => Some(client.scope),
            Self::Full | Self::Sso { .. } => None,
        }
    }

    /// Whether the token has a scope, or is not limited by scopes.
    pub(crate) fn sees(&self, scope: Scope) -> bool {
        self.scope().is_none_or(|scopes| scopes.contains(scope))
    }

    /// Whether the token may read the account's teams together with the account.
    pub(crate) fn sees_teams(&self) -> bool {
        self.scope().is_none_or(|scope| {
            [Scope::Teams, Scope::SessionsRead, Scope::SessionsWrite]
                .into_iter()
                .any(|enough| scope.contains(enough))
        })
    }
}
