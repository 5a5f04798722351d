use broker::{BrokerUrl, DeadLetterError};
use db_kit::{DbError, Pool};
use serde::Serialize;
use service_kit::config::DatabaseConfig;
use service_kit::start::{self, StartError};
use service_kit::{Clock, cli};
use uuid::Uuid;

use crate::config::{Config, PREFIX};
use crate::running::{MIGRATIONS, NAME};

/// The program that contains the administration commands.
#[derive(Debug, Clone, Copy)]
pub struct AdminInvocation<'a> {
    /// The beginning of the command line, such as `notifier admin`; for hints.
    pub program: &'static str,
    /// The databases of the other parts, whose outboxes may have unroutable events. Empty for the notifier on its
    /// own, which does not know them and needs a broker.
    pub others: &'a [(&'static str, &'a DatabaseConfig)],
}

/// What a command works with.
pub(super) struct Context {
    /// The notifier's own database.
    pub(super) pool: Pool,
    /// The other parts' databases, by name.
    pub(super) others: Vec<(&'static str, Pool)>,
    pub(super) broker: BrokerUrl,
    pub(super) prefix: String,
    pub(super) clock: Clock,
    json: bool,
    program: &'static str,
}

/// Why a command failed, completely or in part: a sentence. The exit code is 1.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

impl Context {
    pub(super) async fn open(
        config: &Config,
        caller: AdminInvocation<'_>,
        json: bool,
    ) -> Result<Self, Failure> {
        let home = config.home();
        let pool = home.open_existing_pool(&config.database, NAME)?;
        start::check_migrated(&pool, MIGRATIONS).await?;
        let mut others = Vec::new();
        for &(part, database) in caller.others {
            others.push((part, home.open_existing_pool(database, part)?));
        }
        let broker = config.broker.url(PREFIX);
        Ok(Self {
            pool,
            others,
            broker: broker.map_err(StartError::from)?,
            prefix: config.broker.prefix.clone(),
            clock: Clock::system(),
            json,
            program: caller.program,
        })
    }

    /// Returns the command line of an administration command, for a hint.
    pub(super) fn command(&self, command: &str) -> String {
        format!("`{} {command}`", self.program)
    }

    /// Prints the outcome, as JSON or as text.
    pub(super) fn show<T: Serialize>(
        &self,
        outcome: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        cli::show(self.json, outcome, text).map_err(Failure)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self(error.to_string())
    }
}

impl From<DbError> for Failure {
    fn from(error: DbError) -> Self {
        Self(match error {
            DbError::Unreachable(cause) => format!("the database does not answer: {cause}"),
            error => format!("database: {error}"),
        })
    }
}

impl From<DeadLetterError> for Failure {
    fn from(error: DeadLetterError) -> Self {
        let hint = match &error {
            DeadLetterError::NoBroker => {
                return Self(format!(
                    "{PREFIX}__BROKER__URL must be an amqp:// or amqps:// URL; for the standalone, use `holdfast admin notifier`"
                ));
            }
            DeadLetterError::Unavailable(_) => format!("check {PREFIX}__BROKER__URL"),
            DeadLetterError::NoQueue(_) => {
                format!("start the notifier once, or set {PREFIX}__BROKER__PREFIX to its value")
            }
        };
        Self(format!("{error}; {hint}"))
    }
}

/// Returns the short form of an id, for tables and arguments: the last 12 digits of a UUID, which are random (the
/// first ones are a time). Any other id is returned unchanged.
pub(super) fn short(id: &str) -> String {
    match Uuid::parse_str(id) {
        Ok(uuid) => format!("{:012x}", uuid.as_u128() & 0xffff_ffff_ffff),
        Err(_) => id.to_owned(),
    }
}
