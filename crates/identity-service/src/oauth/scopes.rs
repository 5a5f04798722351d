//! Describes scopes to the user who is asked for consent.

use auth_types::{Scope, ScopeSet, UnknownName};

use crate::error::Error;

/// Parses a stored scope. The error names `column`.
pub(crate) fn read(text: &str, column: &str) -> Result<ScopeSet, Error> {
    let read = text.parse();
    read.map_err(|error: UnknownName| Error::internal(column, error))
}

/// A thing that a client could do, as the consent page shows it.
pub(crate) struct ScopeDescription {
    pub(crate) text: &'static str,
    /// Whether it changes data.
    pub(crate) is_change: bool,
}

/// Describes a requested scope. The client can combine it with `before`, the scope that the user allowed earlier.
pub(crate) fn lines(scope: ScopeSet, before: ScopeSet) -> Vec<ScopeDescription> {
    let mut lines: Vec<ScopeDescription> = scope.iter().map(line).collect();
    let others = ScopeSet::from_iter([Scope::Teams, Scope::SessionsRead]);
    if !scope.intersection(others).is_empty() && scope.union(before).includes(others) {
        lines.push(ScopeDescription {
            text: "See what others in your teams plan and do: their focus sessions, notes and points",
            is_change: false,
        });
    }
    if lines.is_empty() {
        lines.push(ScopeDescription {
            text: "Know that you have an account here",
            is_change: false,
        });
    }
    lines
}

fn line(scope: Scope) -> ScopeDescription {
    let (text, is_change) = match scope {
        Scope::OpenId => ("Sign you in with your account", false),
        Scope::Profile => ("See your username and photo", false),
        Scope::Email => ("See your e-mail address", false),
        Scope::Teams => ("See your teams and their members", false),
        Scope::TeamsWrite => (
            "Change your teams, their members, invitations and projects",
            true,
        ),
        Scope::SessionsRead => ("See your projects, focus sessions and points", false),
        Scope::SessionsWrite => (
            "Plan, start and submit focus sessions, and change your projects and preferences",
            true,
        ),
        Scope::IntegrationsWrite => (
            "Change chat hooks of your teams, and webhooks of yours and theirs",
            true,
        ),
        Scope::OfflineAccess => (
            "Keep this access while you are away, until you take it back",
            false,
        ),
        Scope::Account => (
            "Change your profile and photo, see and end your sign-ins, and download your data",
            true,
        ),
    };
    ScopeDescription { text, is_change }
}
