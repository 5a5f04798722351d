//! PostgreSQL and RabbitMQ for the tests: named ones, found ones, private ones, installed ones.
//!
//! Nothing is done to a database or a virtual host that this tool did not make: the tests make
//! their own databases and drop them, and this tool makes a virtual host and removes it.

mod amqp;
mod apt;
mod pg;
mod postgres;
mod rabbitmq;
mod restricted;

use crate::cmd::{Result, fail};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// The host and port of an URL such as `scheme://user:password@host:port/path`, its user and
/// password, and its path without the slash.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    address: String,
    user: String,
    password: String,
    path: String,
}

impl Place {
    fn parse(url: &str, schemes: &[&str], default_port: u16) -> Result<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return fail(format!(
                "not an URL of the kind {}://…",
                schemes.join(":// or ")
            ));
        };
        if !schemes.contains(&scheme) {
            return fail(format!(
                "`{scheme}://` is not {}://",
                schemes.join(":// or ")
            ));
        }
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let address = if has_port {
            host.to_owned()
        } else {
            format!("{host}:{default_port}")
        };
        Ok(Self {
            address,
            user: user.into(),
            password: password.into(),
            path: path.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn an_url_falls_into_its_parts() {
        let place = Place::parse(
            "postgres://mia:pw@db:5433/postgres?x=1",
            &["postgres"],
            5432,
        )
        .unwrap();
        assert_eq!(place.address, "db:5433");
        assert_eq!(
            (place.user.as_str(), place.password.as_str()),
            ("mia", "pw")
        );
        assert_eq!(place.path, "postgres");
        let bare = Place::parse("amqp://localhost", &["amqp"], 5672).unwrap();
        assert_eq!(
            (bare.address.as_str(), bare.path.as_str()),
            ("localhost:5672", "")
        );
        assert!(Place::parse("mysql://x", &["postgres"], 5432).is_err());
        assert!(Place::parse("nonsense", &["postgres"], 5432).is_err());
    }
}
