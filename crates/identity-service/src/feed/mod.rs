//! The change feed: how each process learns within a second what another one changed, so that it may
//! answer from memory in between.
//!
//! Who changes something writes a row per subject into `changes`, in the same transaction. `watch`
//! reads them on a connection of its own and has `memory` forget. While that connection is silent
//! nothing is answered from memory; the database is asked each time, and nothing revoked passes.

mod alive;
pub(crate) mod memory;
pub(crate) mod queries;
mod watch;

use auth_types::UserId;

pub(crate) use memory::{Memory, Question};
pub(crate) use watch::Watch;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// A sign-in, by its id.
    Session(String),
    /// An account, or what it is in a team.
    User(UserId),
    /// A team's name or existence.
    Teams,
    Keys,
    /// An OAuth client, by its id.
    Client(String),
}

impl Subject {
    fn kind(&self) -> &'static str {
        match self {
            Self::Session(_) => "session",
            Self::User(_) => "user",
            Self::Teams => "teams",
            Self::Keys => "keys",
            Self::Client(_) => "client",
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Session(name) | Self::Client(name) => name.clone(),
            Self::User(id) => id.to_string(),
            Self::Teams | Self::Keys => String::new(),
        }
    }

    /// Reads a row; none for a kind that a newer version writes.
    fn read(kind: &str, name: String) -> Option<Self> {
        match kind {
            "session" => Some(Self::Session(name)),
            "user" => name.parse().ok().map(Self::User),
            "teams" => Some(Self::Teams),
            "keys" => Some(Self::Keys),
            "client" => Some(Self::Client(name)),
            _ => None,
        }
    }
}
