use auth_types::{TeamId, UserId};

/// A deleted account or team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Erasure {
    /// An account: all data of the user is deleted.
    User(UserId),
    /// A team: its projects are archived, and its chats and webhooks are removed.
    Team(TeamId),
}

impl Erasure {
    const USER: &'static str = "user";
    const TEAM: &'static str = "team";

    /// Decodes a row; none for a kind that no version of this service writes.
    pub(super) fn from_columns(kind: &str, id: i64) -> Option<Self> {
        match kind {
            Self::USER => UserId::new(id).map(Self::User),
            Self::TEAM => TeamId::new(id).map(Self::Team),
            _ => None,
        }
    }

    /// Returns the columns `kind` and `id`.
    pub(super) fn key(self) -> (&'static str, i64) {
        match self {
            Self::User(user) => (Self::USER, user.get()),
            Self::Team(team) => (Self::TEAM, team.get()),
        }
    }
}
