use std::process::ExitCode;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use db_kit::DbError;
use serde::Serialize;
use service_kit::start::{StartError, check_migrated};
use service_kit::{Clock, Problem, cli};

use crate::app::App;
use crate::config::Config;
use crate::error::{Error, render};
use crate::request_context::{RequestChannel, RequestContext};
use crate::running::{self, MIGRATIONS, NAME};

/// The state of a command: the service's state without a server. A running service publishes the events that it
/// leaves in the outbox, and learns of its changes by the change feed.
pub(super) struct Context {
    pub(super) app: App,
    pub(super) request: RequestContext,
    json: bool,
    /// The command name for hints, such as `identity-service admin`.
    program: &'static str,
}

/// Why a command failed.
pub(super) enum CommandError {
    /// The arguments are invalid: exit code 2.
    Usage(String),
    /// The operation is not possible: exit code 1.
    Refused(String),
    /// The account does not exist: exit code 1.
    UserNotFound(String),
    Service(Error),
}

impl Context {
    pub(super) async fn open(
        config: &Config,
        json: bool,
        program: &'static str,
    ) -> Result<Self, CommandError> {
        let pool = config.home().open_existing_pool(&config.database, NAME)?;
        // A wrong path would otherwise get new keys.
        if let Some(missing) = running::missing_key(config) {
            return Err(StartError::NothingThere(missing).into());
        }
        check_migrated(&pool, MIGRATIONS).await?;
        let base_url = config.public_url(config.listen);
        let secrets = running::secrets(config)?;
        let app = App::new(config, base_url, pool, Clock::system(), &secrets)?;
        Ok(Self {
            app,
            request: RequestContext::local(RequestChannel::Command),
            json,
            program,
        })
    }

    /// Returns an administration command for a hint.
    pub(super) fn command(&self, command: &str) -> String {
        format!("`{} {command}`", self.program)
    }

    /// Prints the result, as JSON for programs or as text for people.
    pub(super) fn show<T: Serialize>(
        &self,
        outcome: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CommandError> {
        cli::show(self.json, outcome, text).map_err(CommandError::Refused)
    }
}

impl CommandError {
    pub(super) fn print(self, json: bool) -> ExitCode {
        let code = match &self {
            Self::Usage(_)
            | Self::Service(Error::Validation(_) | Error::PasswordTooLong | Error::WeakPassword) => {
                2
            }
            Self::Refused(_) | Self::UserNotFound(_) | Self::Service(_) => 1,
        };
        let (error, text) = match self {
            Self::Service(error) if json => {
                return print_error(&render(&Problem::from(&error)).to_string(), code);
            }
            Self::Service(error) => ("", error.to_string()),
            Self::Usage(text) => ("validation_failed", text),
            Self::Refused(text) => ("refused", text),
            Self::UserNotFound(text) => ("user_not_found", text),
        };
        if json {
            let body = serde_json::json!({ "error": error, "error_description": text });
            return print_error(&body.to_string(), code);
        }
        print_error(&format!("error: {text}"), code)
    }
}

fn print_error(text: &str, code: u8) -> ExitCode {
    #[expect(
        clippy::print_stderr,
        reason = "the command's own error, for the person who typed it"
    )]
    {
        eprintln!("{text}");
    }
    ExitCode::from(code)
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(DbError::Unreachable(cause)) => {
                Self::Refused(format!("the database does not answer: {cause}"))
            }
            error => Self::Service(error),
        }
    }
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Parses a time: RFC 3339, or a date such as `2027-01-31` for the start of that day in UTC.
pub(super) fn moment(text: &str) -> Result<DateTime<Utc>, &'static str> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Ok(moment.to_utc());
    }
    text.parse::<NaiveDate>()
        .map(|date| date.and_time(NaiveTime::MIN).and_utc())
        .map_err(|_| "expected a time such as 2027-01-31 or 2027-01-31T18:00:00Z")
}
