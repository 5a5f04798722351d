use std::path::PathBuf;
use std::process::ExitCode;

use broker::{BrokerUrl, ParkedError};
use db_kit::{DatabaseUrl, DbError, Pool, PoolOptions};
use serde::Serialize;
use service_kit::cli::print;
use service_kit::config::DatabaseConfig;
use service_kit::{Clock, data_dir};
use uuid::Uuid;

use crate::config::{Config, PREFIX};
use crate::running::{MIGRATIONS, NAME};

/// Connections of a command, which does one thing after the other.
const CONNECTIONS: u32 = 2;

/// Where the administration is called from.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// How it is called there, such as `notifier admin`; for hints.
    pub program: &'static str,
    /// The other parts whose outboxes may have set events aside, by name. None when the notifier is on its
    /// own: it knows no other part's database then, and needs a broker.
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

/// Why a command did nothing, or not all of it; a sentence. Exit code 1.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

impl Context {
    pub(super) async fn open(
        config: &Config,
        caller: Caller<'_>,
        json: bool,
    ) -> Result<Self, Failure> {
        let pool = existing(&config.database, config.data_dir.clone())?;
        let pending = pool
            .read(|db| db_kit::migrations::pending(db, MIGRATIONS))
            .await?;
        if !pending.is_empty() {
            return Err(Failure(format!(
                "{} migrations of the database are pending; apply them first, with the command `migrate`",
                pending.len()
            )));
        }
        let mut others = Vec::new();
        for &(part, database) in caller.others {
            others.push((part, existing(database, config.data_dir.clone())?));
        }
        let told = |cause: &dyn std::fmt::Display| Failure(cause.to_string());
        Ok(Self {
            pool,
            others,
            broker: config.broker_url().map_err(|cause| told(&cause))?,
            prefix: config.broker.prefix.clone(),
            clock: Clock::system(),
            json,
            program: caller.program,
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
            let json = serde_json::to_string_pretty(outcome);
            print(&json.map_err(|cause| Failure(cause.to_string()))?)
        } else {
            print(&text(outcome))
        }
        .map_err(Failure)
    }
}

/// A wrong path would otherwise become an empty database there.
fn existing(database: &DatabaseConfig, folder: Option<PathBuf>) -> Result<Pool, Failure> {
    let url = match &database.url {
        Some(url) => url.clone(),
        None => {
            let folder = folder.unwrap_or_else(|| data_dir::DEFAULT.into());
            DatabaseUrl::sqlite_file(&folder.join(format!("{NAME}.db")))
        }
    };
    match url.file().filter(|file| !file.exists()) {
        Some(missing) => Err(Failure(format!(
            "there is no {}; give the service's --data-dir or configuration, or start the service once",
            missing.display()
        ))),
        None => Ok(Pool::open(PoolOptions::new(url, CONNECTIONS))),
    }
}

impl Failure {
    /// Tells it on standard error, and the exit code.
    #[expect(
        clippy::print_stderr,
        reason = "the command's own error, for whoever typed it"
    )]
    pub(super) fn tell(self, json: bool) -> ExitCode {
        if json {
            eprintln!("{}", serde_json::json!({ "error": self.0 }));
        } else {
            eprintln!("error: {}", self.0);
        }
        ExitCode::FAILURE
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

impl From<ParkedError> for Failure {
    fn from(error: ParkedError) -> Self {
        let hint = match &error {
            ParkedError::NoBroker => {
                return Self(format!(
                    "{PREFIX}__BROKER__URL: an amqp:// or amqps:// address is needed; inside the standalone it is `holdfast admin notifier`"
                ));
            }
            ParkedError::Away(_) => format!("{PREFIX}__BROKER__URL says where it is"),
            ParkedError::NoQueue(_) => {
                format!("start the notifier once, or set {PREFIX}__BROKER__PREFIX as it has it")
            }
        };
        Self(format!("{error}; {hint}"))
    }
}

/// What people type for an id, and tables show: the end of a UUID, which is chance (its beginning is the
/// time), or the id itself when it is none.
pub(super) fn short(id: &str) -> String {
    match Uuid::parse_str(id) {
        Ok(uuid) => {
            let digits = uuid.simple().to_string();
            digits
                .get(digits.len() - 12..)
                .unwrap_or(&digits)
                .to_owned()
        }
        Err(_) => id.to_owned(),
    }
}
