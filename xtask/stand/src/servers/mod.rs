//! PostgreSQL and RabbitMQ for the tests: named by variables, found, started privately, or installed.
//!
//! Only databases and virtual hosts that were created for the tests are changed: the tests create and drop their own
//! databases, and this tool creates and removes a virtual host.

mod apt;
mod port;
mod postgres;
mod rabbitmq;
mod restricted;
mod source;

use std::process::Command;
use xtask_kit::cmd::Result;

pub use apt::{install, unpack};
pub use port::free_port;
pub use postgres::{Postgres, Shutdown};
pub use rabbitmq::{PrivateRabbit, Rabbit};
pub use source::Source;

/// Both servers. Dropping them removes what was created and stops what was started.
pub struct Servers {
    postgres: Postgres,
    rabbit: Rabbit,
}

impl Servers {
    /// Obtains both servers from this source.
    pub fn obtain(source: Source) -> Result<Self> {
        let postgres = Postgres::obtain(source)?;
        let rabbit = Rabbit::obtain(source)?;
        Ok(Self { postgres, rabbit })
    }

    /// Sets the environment variables through which the tests of a command find these servers.
    pub fn name_in<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some(restricted) = &self.rabbit.restricted {
            command.env("HOLDFAST_TEST_AMQP_RESTRICTED", &restricted.url);
        }
        command
            .env("HOLDFAST_TEST_BACKEND", "postgres")
            .env("HOLDFAST_TEST_PG", &self.postgres.url)
            .env("HOLDFAST_TEST_AMQP", &self.rabbit.url)
    }
}
