//! The change feed: each process learns within a second what another one changed, and may respond from its cache in
//! between.
//!
//! Each change inserts a row per subject into `changes`, in its own transaction. `watcher` reads the rows on a
//! connection of its own and removes the subjects from `cache`. While that connection is silent, every validation
//! reads the database, so that no revoked token passes.

pub(crate) mod cache;
mod liveness;
pub(crate) mod queries;
mod watcher;

use auth_types::UserId;

pub(crate) use cache::{IdentityCache, ResponseKey};
pub(crate) use watcher::FeedWatcher;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ChangeSubject {
    /// A session, by its id.
    Session(String),
    /// An account, or its role in a team.
    User(UserId),
    /// The name or existence of a team.
    Teams,
    Keys,
    /// An OAuth client, by its id.
    Client(String),
}

impl ChangeSubject {
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

    /// Parses a row. Returns `None` for a kind that only a newer version writes.
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
