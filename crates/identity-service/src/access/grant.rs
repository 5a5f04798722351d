//! What a sign-in was opened for.

use auth_types::{Scope, ScopeSet};
use chrono::Duration;
use diesel::{Queryable, Selectable};

use crate::error::Error;
use crate::schema::sessions;

/// A session is over after this long, however often it is refreshed.
pub(crate) const ABSOLUTE_LIFE: Duration = Duration::days(365);
/// The cookie of the hosted pages is good for this long.
pub(crate) const COOKIE_LIFE: Duration = Duration::days(30);

/// What a session was opened for, which decides what its tokens may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grant {
    /// A sign-in at the product itself: everything that the account may.
    FirstParty,
    /// The cookie of the hosted pages. It has no tokens, and never refreshes.
    Browser,
    /// A hand-over to another site, which the label names.
    Sso {
        service: Option<String>,
        /// The site's origin; none where it was not noted yet.
        site: Option<String>,
    },
    /// Access that the account gave to an OAuth client.
    Client {
        client_id: String,
        scope: ScopeSet,
        is_first_party: bool,
    },
}

/// What an access token may be used for, as its claims say: at most what the session was opened for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything that the account may.
    Full,
    /// What the site of this origin may that a sign-in was handed over to.
    Sso { site: Option<String> },
    /// What an OAuth client may with these scopes.
    Client {
        client_id: String,
        scope: ScopeSet,
        is_first_party: bool,
    },
}

impl Grant {
    const FIRST_PARTY: &'static str = "first_party";
    pub(crate) const BROWSER: &'static str = "browser";
    pub(crate) const SSO: &'static str = "sso";
    pub(crate) const CLIENT: &'static str = "client";

    /// The name in the database.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::FirstParty => Self::FIRST_PARTY,
            Self::Browser => Self::BROWSER,
            Self::Sso { .. } => Self::SSO,
            Self::Client { .. } => Self::CLIENT,
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
            Self::Client { client_id, .. } => Some(client_id),
            _ => None,
        }
    }

    pub(crate) fn scope(&self) -> Option<ScopeSet> {
        match self {
            Self::Client { scope, .. } => Some(*scope),
            _ => None,
        }
    }

    pub(crate) fn life(&self) -> Duration {
        match self {
            Self::Browser => COOKIE_LIFE,
            _ => ABSOLUTE_LIFE,
        }
    }

    /// What a token of this session may be used for.
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::FirstParty | Self::Browser => Access::Full,
            Self::Sso { site, .. } => Access::Sso { site: site.clone() },
            Self::Client {
                client_id,
                scope,
                is_first_party,
            } => Access::Client {
                client_id: client_id.clone(),
                scope: *scope,
                is_first_party: *is_first_party,
            },
        }
    }
}

/// The columns of a session that say what it was opened for, without its client's.
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
    /// The grant of a session that no OAuth client holds; none for one that a client holds.
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

impl Access {
    /// The claim `origin` of a token.
    pub(crate) fn origin(&self) -> Option<&'static str> {
        match self {
            Self::Sso { .. } => Some("sso"),
            Self::Client {
                is_first_party: true,
                ..
            } => Some("first_party"),
            Self::Full | Self::Client { .. } => None,
        }
    }

    /// The claim `sso_origin` of a token.
    pub(crate) fn site(&self) -> Option<&str> {
        match self {
            Self::Sso { site } => site.as_deref(),
            _ => None,
        }
    }

    /// Reads the claims; none for a combination that no token of ours has.
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
                Some(Self::Client {
                    client_id,
                    scope: scope.parse().ok()?,
                    is_first_party: origin.is_some(),
                })
            }
            _ => None,
        }
    }

    pub(crate) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Client { client_id, .. } => Some(client_id),
            Self::Full | Self::Sso { .. } => None,
        }
    }

    /// The scopes of a client's token; none where scopes limit nothing.
    pub(crate) fn scope(&self) -> Option<ScopeSet> {
        match self {
            Self::Client { scope, .. } => Some(*scope),
            Self::Full | Self::Sso { .. } => None,
        }
    }

    /// Whether the account's e-mail address may be told.
    pub(crate) fn sees_email(&self) -> bool {
        self.scope()
            .is_none_or(|scope| scope.contains(Scope::Email))
    }

    /// Whether it may be told until when the account has paid: strangers see the plan alone.
    pub(crate) fn sees_end_of_plan(&self) -> bool {
        self.scope()
            .is_none_or(|scope| scope.contains(Scope::Profile))
    }

    /// Whether the account's teams may be told along with who it is.
    pub(crate) fn sees_teams(&self) -> bool {
        self.scope().is_none_or(|scope| {
            [Scope::Teams, Scope::SessionsRead, Scope::SessionsWrite]
                .into_iter()
                .any(|enough| scope.contains(enough))
        })
    }
}
