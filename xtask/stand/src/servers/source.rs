/// Where servers come from. `Auto` tries the other ways in this order, but prefers a private PostgreSQL to one that is
/// found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Source {
    /// The first of these that works
    #[default]
    Auto,
    /// The servers in HOLDFAST_TEST_PG and HOLDFAST_TEST_AMQP
    Named,
    /// Servers that listen on the usual local ports
    Found,
    /// Private servers from installed programs, in a temporary folder
    Private,
    /// Private servers from packages that are installed first (as root on Debian)
    Install,
}

impl Source {
    pub(super) fn includes(self, way: Self) -> bool {
        self == Self::Auto || self == way
    }
}
