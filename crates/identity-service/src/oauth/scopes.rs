//! Describes scopes to the user who is asked for consent.

use auth_types::{Scope, ScopeSet, UnknownName};
use messages::{Text, t};

use crate::error::Error;

/// Parses a stored scope. The error names `column`.
pub(crate) fn read(text: &str, column: &str) -> Result<ScopeSet, Error> {
    let read = text.parse();
    read.map_err(|error: UnknownName| Error::internal(column, error))
}

/// A thing that a client could do, as the consent page shows it.
pub(crate) struct ScopeDescription {
    pub(crate) text: Text,
    /// Whether it changes data.
    pub(crate) is_change: bool,
}

/// Describes a requested scope. The client can combine it with `before`, the scope that the user allowed earlier.
pub(crate) fn lines(scope: ScopeSet, before: ScopeSet) -> Vec<ScopeDescription> {
    let mut lines: Vec<ScopeDescription> = scope.iter().map(line).collect();
    let others = ScopeSet::from_iter([Scope::Teams, Scope::SessionsRead]);
    if !scope.intersection(others).is_empty() && scope.union(before).includes(others) {
        lines.push(ScopeDescription {
            text: t("oauth-scope-team-activity"),
            is_change: false,
        });
    }
    if lines.is_empty() {
        lines.push(ScopeDescription {
            text: t("oauth-scope-none"),
            is_change: false,
        });
    }
    lines
}

fn line(scope: Scope) -> ScopeDescription {
    let (id, is_change) = match scope {
        Scope::OpenId => ("oauth-scope-openid", false),
        Scope::Profile => ("oauth-scope-profile", false),
        Scope::Email => ("oauth-scope-email", false),
        Scope::Groups => ("oauth-scope-groups", false),
        Scope::Teams => ("oauth-scope-teams", false),
        Scope::TeamsWrite => ("oauth-scope-teams-write", true),
        Scope::SessionsRead => ("oauth-scope-sessions-read", false),
        Scope::SessionsWrite => ("oauth-scope-sessions-write", true),
        Scope::IntegrationsWrite => ("oauth-scope-integrations-write", true),
        Scope::OfflineAccess => ("oauth-scope-offline-access", false),
        Scope::Account => ("oauth-scope-account", true),
    };
    let text = t(id);
    ScopeDescription { text, is_change }
}
