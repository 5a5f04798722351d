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
    pub(super) fn read(kind: &str, id: i64) -> Option<Self> {
        match kind {
            Self::USER => UserId::new(id).map(Self::User),
            Self::TEAM => TeamId::new(id).map(Self::Team),
            _ => None,
        }
    }

    /// Returns the value of the column `kind`.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::User(_) => Self::USER,
            Self::Team(_) => Self::TEAM,
        }
    }

    /// Returns the value of the column `id`.
    pub(super) fn id(self) -> i64 {
        match self {
            Self::User(user) => user.get(),
            Self::Team(team) => team.get(),
        }
    }
}
