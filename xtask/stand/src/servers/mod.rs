//! PostgreSQL and RabbitMQ for the tests: named ones, found ones, private ones, installed ones.
//!
//! Nothing is done to a database or a virtual host that this tool did not make: the tests make
//! their own databases and drop them, and this tool makes a virtual host and removes it.

mod apt;
mod postgres;
mod rabbitmq;
mod restricted;

use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use xtask_kit::cmd::{Result, fail};

pub use apt::{install, unpack};
pub use postgres::{Postgres, Shutdown};
pub use rabbitmq::{PrivateRabbit, Rabbit};

/// Linux gives outgoing connections ports from 32768 on.
const FIRST_PORT: u32 = 18_000;
const PORTS: u32 = 12_000;

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
    fn includes(self, way: Self) -> bool {
        self == Self::Auto || self == way
    }
}

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

/// A port that was free a moment ago, and below those that the system gives to outgoing connections:
/// a server that is stopped and started again finds it still free.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..PORTS {
        // Of tools that run at once each begins somewhere else.
        let offset = std::process::id().wrapping_mul(97) + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST_PORT + offset % PORTS)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    fail("there is no free port")
}
