/// The servers on which the tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestBackend {
    /// SQLite files and the broker in memory.
    Sqlite,
    /// PostgreSQL and RabbitMQ.
    Postgres,
}

impl TestBackend {
    /// Returns the one that `HOLDFAST_TEST_BACKEND` selects.
    pub fn current() -> Self {
        match setting("HOLDFAST_TEST_BACKEND").as_deref() {
            None | Some("sqlite") => Self::Sqlite,
            Some("postgres") => Self::Postgres,
            Some(other) => panic!("HOLDFAST_TEST_BACKEND is {other:?}; it is sqlite or postgres"),
        }
    }

    /// Returns the administration URL of the PostgreSQL server.
    pub(crate) fn postgres_url() -> String {
        setting("HOLDFAST_TEST_PG").expect(
            "set HOLDFAST_TEST_PG=postgres://USER@HOST:PORT/postgres, or run `cargo xtask test`",
        )
    }

    /// Returns the URL of the RabbitMQ server.
    pub(crate) fn amqp_url() -> String {
        setting("HOLDFAST_TEST_AMQP").expect(
            "set HOLDFAST_TEST_AMQP=amqp://USER:PASSWORD@HOST:PORT, or run `cargo xtask test`",
        )
    }
}

/// Returns a variable of the tests' environment; an empty one counts as unset.
#[expect(
    clippy::disallowed_methods,
    reason = "the tests have no configuration file"
)]
pub fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
