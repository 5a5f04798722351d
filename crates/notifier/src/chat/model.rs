#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A team is told of a session.
    Plan,
    /// A team is told that a session was submitted.
    Finished,
    /// A team is told that nobody submitted a session.
    Abandoned,
    /// Somebody sees whether the chat is connected.
    Test,
}

impl Kind {
    /// The column `kind`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
            Self::Test => "test",
        }
    }

    /// What a row's column `kind` says.
    pub(super) fn of(name: &str) -> Self {
        [Self::Finished, Self::Abandoned, Self::Test]
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(Self::Plan)
    }

    /// Whether it tells how a session ended that a plan told of.
    pub(super) fn is_end(self) -> bool {
        matches!(self, Self::Finished | Self::Abandoned)
    }
}
