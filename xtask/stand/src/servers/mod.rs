//! PostgreSQL and RabbitMQ for the tests: named ones, found ones, private ones, installed ones.
//!
//! Nothing is done to a database or a virtual host that this tool did not make: the tests make
//! their own databases and drop them, and this tool makes a virtual host and removes it.

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

/// Both servers. Dropping it removes what was made and stops what was started.
pub struct Servers {
    postgres: Postgres,
    rabbit: Rabbit,
}

impl Servers {
    /// From wherever this source says.
    pub fn obtain(source: Source) -> Result<Self> {
        let postgres = Postgres::obtain(source)?;
        let rabbit = Rabbit::obtain(source)?;
        Ok(Self { postgres, rabbit })
    }

    /// Tells a command about these servers, in the words the tests listen for.
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
