//! Administration from the command line of the machine, with or without a running service.

mod flags;
mod rollups;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use db_kit::Pool;
use serde::Serialize;
use service_kit::{Clock, cli, start};

use crate::config::Config;
use crate::running::{MIGRATIONS, NAME};

/// The arguments of the administration commands.
#[derive(Debug, Args)]
pub struct AdminArgs {
    /// Print JSON for programs, also for errors on standard error
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Review signs of manipulated clients
    #[command(subcommand)]
    Flags(flags::FlagsCommand),
    /// Recompute totals, days and leaderboards from the sessions, and report differences
    RebuildRollups(rollups::RebuildArgs),
}

/// The resources of a command.
struct Context {
    pool: Pool,
    clock: Clock,
    json: bool,
}

/// Why a command failed, as a sentence. The exit code is 1.
#[derive(Debug)]
struct CommandError(String);

impl<E: std::fmt::Display> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Runs one administration command. Exit code 1 means that it failed, 2 that the command line is invalid, and 3 that
/// rollups differ from the sessions.
#[must_use]
pub fn run_admin(args: AdminArgs, config: &Config) -> ExitCode {
    let json = args.json;
    let outcome = cli::runtime()
        .map_err(CommandError::from)
        .and_then(|runtime| runtime.block_on(execute(args, config)));
    outcome.unwrap_or_else(|failure| cli::fail(&failure.0, json))
}

async fn execute(args: AdminArgs, config: &Config) -> Result<ExitCode, CommandError> {
    let context = Context::open(config, args.json).await?;
    match args.command {
        AdminCommand::Flags(command) => flags::run(&context, command).await,
        AdminCommand::RebuildRollups(args) => rollups::run(&context, args).await,
    }
}

impl Context {
    async fn open(config: &Config, json: bool) -> Result<Self, CommandError> {
        let data_dir = config.data_dir();
        let pool = data_dir.open_existing_pool(&config.database, NAME)?;
        start::check_migrated(&pool, MIGRATIONS).await?;
        Ok(Self {
            pool,
            clock: Clock::system(),
            json,
        })
    }

    /// Prints the outcome as JSON for programs, or as text for people.
    fn show<T: Serialize>(
        &self,
        outcome: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), CommandError> {
        cli::show(self.json, outcome, text).map_err(CommandError)
    }
}
