#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A session started.
    Plan,
    /// A session was submitted.
    Finished,
    /// A session was not submitted in time.
    Abandoned,
    /// A test of the connection.
    Test,
}

impl Kind {
    /// Returns the value of the column `kind`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
            Self::Test => "test",
        }
    }

    /// Returns the kind with this value in the column `kind`. Any other value counts as a plan.
    pub(super) fn from_name(name: &str) -> Self {
        [Self::Finished, Self::Abandoned, Self::Test]
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(Self::Plan)
    }

    /// Whether it reports the end of a session, and so follows a plan.
    pub(super) fn is_end(self) -> bool {
        matches!(self, Self::Finished | Self::Abandoned)
    }
}
