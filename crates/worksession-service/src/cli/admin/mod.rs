//! What can be administered from the machine's command line, beside a running service or without one.

mod flags;
mod rollups;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use db_kit::{Pool, PoolOptions};
use serde::Serialize;
use service_kit::cli::print;
use service_kit::{Clock, data_dir};

use crate::config::Config;
use crate::error::Error;
use crate::running::{MIGRATIONS, NAME};

/// Connections of a command, which does one thing after the other.
const CONNECTIONS: u32 = 2;

/// What can be administered from the machine's command line.
#[derive(Debug, Args)]
pub struct AdminArgs {
    /// Print JSON, for programs; errors too, on standard error
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Signs of manipulated clients: look at them and decide
    #[command(subcommand)]
    Flags(flags::FlagsCommand),
    /// Compute totals, days and boards again from the sessions, and say what differed
    RebuildRollups(rollups::RebuildArgs),
}

/// What a command works with.
struct Context {
    pool: Pool,
    clock: Clock,
    json: bool,
}

/// Why a command did nothing; a sentence. Exit code 1.
#[derive(Debug)]
struct Failure(String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

/// Runs one command of the administration. Exit code 1 says that it could not be done, 2 that it cannot be meant so,
/// and 3 that rollups differ from the sessions.
#[must_use]
pub fn run_admin(args: AdminArgs, config: &Config) -> ExitCode {
    let json = args.json;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = runtime
        .map_err(|cause| Failure(cause.to_string()))
        .and_then(|runtime| runtime.block_on(execute(args, config)));
    outcome.unwrap_or_else(|failure| tell(&failure.0, json))
}

async fn execute(args: AdminArgs, config: &Config) -> Result<ExitCode, Failure> {
    let context = Context::open(config, args.json).await?;
    match args.command {
        AdminCommand::Flags(command) => flags::run(&context, command).await,
        AdminCommand::RebuildRollups(args) => rollups::run(&context, args).await,
    }
}

impl Context {
    async fn open(config: &Config, json: bool) -> Result<Self, Failure> {
        // A wrong path would otherwise become an empty database there.
        if let Some(file) = database_file(config).filter(|file| !file.exists()) {
            return Err(Failure(format!(
                "there is no {}; give the service's --data-dir or configuration, or start the service once",
                file.display()
            )));
        }
        let told = |cause: &dyn std::fmt::Display| Failure(cause.to_string());
        let url = config.home().open_pool(&config.database, NAME);
        let url = url.map_err(|cause| told(&cause))?.url().clone();
        let pool = Pool::open(PoolOptions::new(url, CONNECTIONS));
        let pending = pool
            .read(|db| db_kit::migrations::pending(db, MIGRATIONS))
            .await;
        let pending = pending.map_err(|cause| told(&cause))?;
        if !pending.is_empty() {
            return Err(Failure(format!(
                "{} migrations of the database are pending; apply them first, with the command `migrate`",
                pending.len()
            )));
        }
        Ok(Self {
            pool,
            clock: Clock::system(),
            json,
        })
    }

    /// Prints the outcome: for programs as JSON, for people as text.
    fn show<T: Serialize>(
        &self,
        outcome: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let json = serde_json::to_string_pretty(outcome).map_err(Error::internal)?;
            print(&json)
        } else {
            print(&text(outcome))
        }
        .map_err(Failure)
    }
}

fn database_file(config: &Config) -> Option<PathBuf> {
    let folder = config.data_dir.clone();
    match &config.database.url {
        Some(url) => url.file(),
        None => Some(
            folder
                .unwrap_or_else(|| data_dir::DEFAULT.into())
                .join(format!("{NAME}.db")),
        ),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the command's own error, for whoever typed it"
)]
fn tell(text: &str, json: bool) -> ExitCode {
    if json {
        eprintln!("{}", serde_json::json!({ "error": text }));
    } else {
        eprintln!("error: {text}");
    }
    ExitCode::FAILURE
}
