use auth_types::{TeamId, UserId};

/// Who is gone for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Departure {
    /// An account: all that is the user's is deleted.
    User(UserId),
    /// A team: its projects are archived, their chats are told nothing more, and its webhooks go.
    Team(TeamId),
}

impl Departure {
    const USER: &'static str = "user";
    const TEAM: &'static str = "team";

    /// Reads a row; none for what no version of this service writes.
    pub(super) fn read(kind: &str, id: i64) -> Option<Self> {
        match kind {
            Self::USER => UserId::new(id).map(Self::User),
            Self::TEAM => TeamId::new(id).map(Self::Team),
            _ => None,
        }
    }

    /// The column `kind`.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::User(_) => Self::USER,
            Self::Team(_) => Self::TEAM,
        }
    }

    /// The column `id`.
    pub(super) fn id(self) -> i64 {
        match self {
            Self::User(user) => user.get(),
            Self::Team(team) => team.get(),
        }
    }
}
