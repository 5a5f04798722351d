use std::process::ExitCode;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use db_kit::{DbError, Pool, PoolOptions};
use serde::Serialize;
use service_kit::cli::print;
use service_kit::{Clock, Problem};

use crate::app::App;
use crate::config::Config;
use crate::error::{Error, StartError, render};
use crate::origin::{Origin, Via};
use crate::start::{self, MIGRATIONS};

/// Connections of a command, which does one thing after the other.
const CONNECTIONS: u32 = 2;

/// What a command works with: the service's parts without a server. Its events wait in the outbox, where
/// the service's own relay finds them; what running services remember, they forget by the change feed.
pub(super) struct Context {
    pub(super) app: App,
    pub(super) origin: Origin,
    json: bool,
    /// How the administration is called here, such as `identity-service admin`.
    program: &'static str,
}

/// Why a command did nothing.
pub(super) enum Failure {
    /// It cannot be meant as it was written: exit code 2.
    Usage(String),
    /// It could not be done: exit code 1.
    Refused(String),
    /// There is no such account: exit code 1.
    UserNotFound(String),
    Service(Error),
}

impl Context {
    pub(super) async fn open(
        config: &Config,
        json: bool,
        program: &'static str,
    ) -> Result<Self, Failure> {
        // A wrong path would otherwise become an empty database there, with keys of its own.
        if let Some(missing) = start::missing_file(config) {
            return Err(Failure::Refused(format!(
                "there is no {}; give the service's --data-dir or configuration, or start the service once",
                missing.display()
            )));
        }
        let url = start::database_url(config)?;
        let pool = Pool::open(PoolOptions::new(url, CONNECTIONS));
        let pending = pool
            .read(|db| db_kit::migrations::pending(db, MIGRATIONS))
            .await
            .map_err(Error::from)?;
        if !pending.is_empty() {
            return Err(Failure::Refused(format!(
                "{} migrations of the database are pending; apply them first, with the command `migrate`",
                pending.len()
            )));
        }
        let base_url = config.public_url(config.listen);
        let secrets = start::secrets(config)?;
        let app = App::new(config, base_url, pool, Clock::system(), &secrets, None)?;
        Ok(Self {
            app,
            origin: Origin::local(Via::Command),
            json,
            program,
        })
    }

    /// The command of this administration, for a hint.
    pub(super) fn command(&self, command: &str) -> String {
        format!("`{} {command}`", self.program)
    }

    /// Prints the outcome: for programs as JSON, for people as text.
    pub(super) fn show<T: Serialize>(
        &self,
        outcome: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let json = serde_json::to_string_pretty(outcome)
                .map_err(|error| Error::internal("writing JSON", error))?;
            print(&json)
        } else {
            print(&text(outcome))
        }
        .map_err(Failure::Refused)
    }
}

impl Failure {
    /// Tells it on standard error, and the exit code.
    pub(super) fn tell(self, json: bool) -> ExitCode {
        let code = match &self {
            Self::Usage(_)
            | Self::Service(Error::Validation(_) | Error::PasswordTooLong | Error::WeakPassword) => {
                2
            }
            Self::Refused(_) | Self::UserNotFound(_) | Self::Service(_) => 1,
        };
        let (error, text) = match self {
            Self::Service(error) if json => {
                return told(&render(&Problem::from(&error)).to_string(), code);
            }
            Self::Service(error) => ("", error.to_string()),
            Self::Usage(text) => ("validation_failed", text),
            Self::Refused(text) => ("refused", text),
            Self::UserNotFound(text) => ("user_not_found", text),
        };
        if json {
            let body = serde_json::json!({ "error": error, "error_description": text });
            return told(&body.to_string(), code);
        }
        told(&format!("error: {text}"), code)
    }
}

fn told(text: &str, code: u8) -> ExitCode {
    #[expect(
        clippy::print_stderr,
        reason = "the command's own error, for whoever typed it"
    )]
    {
        eprintln!("{text}");
    }
    ExitCode::from(code)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(DbError::Unreachable(cause)) => {
                Self::Refused(format!("the database does not answer: {cause}"))
            }
            error => Self::Service(error),
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// A moment as people write it: `2027-01-31`, which is its first moment in UTC, or RFC 3339.
pub(super) fn moment(text: &str) -> Result<DateTime<Utc>, &'static str> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Ok(moment.to_utc());
    }
    text.parse::<NaiveDate>()
        .map(|date| date.and_time(NaiveTime::MIN).and_utc())
        .map_err(|_| "a moment is written 2027-01-31 or 2027-01-31T18:00:00Z")
}

pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}
