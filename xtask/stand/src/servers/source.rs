/// Where servers come from. `Auto` tries the ways in the order in which they stand here; for PostgreSQL a private one
/// before one that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Source {
    /// The first way that works
    Auto,
    /// HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP
    Named,
    /// What listens on the usual local ports
    Found,
    /// Private servers from installed programs, in a temporary folder
    Private,
    /// Private servers from packages installed now (root on Debian)
    Install,
}

impl Source {
    pub(super) fn includes(self, way: Self) -> bool {
        self == Self::Auto || self == way
    }
}
