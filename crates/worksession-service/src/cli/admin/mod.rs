//! What can be administered from the machine's command line, beside a running service or without one.

mod flags;
mod rollups;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use db_kit::Pool;
use serde::Serialize;
use service_kit::start::{self, StartError};
use service_kit::{Clock, cli};

use crate::config::Config;
use crate::error::Error;
use crate::running::{MIGRATIONS, NAME};

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
    let outcome = cli::runtime()
        .map_err(|cause| Failure(cause.to_string()))
        .and_then(|runtime| runtime.block_on(execute(args, config)));
    outcome.unwrap_or_else(|failure| cli::fail(&failure.0, json))
}

async fn execute(args: AdminArgs, config: &Config) -> Result<ExitCode, Failure> {
    let context = Context::open(config, args.json).await?;
    match args.command {
        AdminCommand::Flags(command) => flags::run(&context, command).await,
        AdminCommand::RebuildRollups(args) => rollups::run(&context, args).await,
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self(error.to_string())
    }
}

impl Context {
    async fn open(config: &Config, json: bool) -> Result<Self, Failure> {
        let pool = config.home().open_existing_pool(&config.database, NAME)?;
        start::check_migrated(&pool, MIGRATIONS).await?;
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
        cli::show(self.json, outcome, text).map_err(Failure)
    }
}
