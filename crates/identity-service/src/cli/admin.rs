use std::process::ExitCode;

use clap::{Args, Subcommand};
use service_kit::cli::runtime;

use super::context::{CommandError, Context};
use super::{audit, clients, keys, users};
use crate::config::Config;

/// Administration from the machine's command line.
#[derive(Debug, Args)]
pub struct AdminArgs {
    /// Print JSON instead of text, also for errors (on standard error)
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Create, find and change accounts
    #[command(subcommand)]
    Users(users::UsersCommand),
    /// Register, show and delete OAuth clients, which request access to accounts
    #[command(subcommand)]
    Clients(clients::ClientsCommand),
    /// List, rotate and remove the keys that sign tokens
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// List what happened to accounts, newest first
    Audit(audit::AuditArgs),
}

/// Runs one administration command. `program` is its name for hints, such as `identity-service admin`. The exit code
/// is 1 if the operation failed, and 2 if the arguments are invalid.
#[must_use]
pub fn run_admin(args: AdminArgs, config: &Config, program: &'static str) -> ExitCode {
    let json = args.json;
    let outcome = runtime()
        .map_err(|error| CommandError::Refused(error.to_string()))
        .and_then(|runtime| runtime.block_on(execute(args, config, program)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.print(json),
    }
}

async fn execute(
    args: AdminArgs,
    config: &Config,
    program: &'static str,
) -> Result<(), CommandError> {
    let context = Context::open(config, args.json, program).await?;
    match args.command {
        AdminCommand::Users(command) => users::run(&context, command).await,
        AdminCommand::Clients(command) => clients::run(&context, command).await,
        AdminCommand::Keys(command) => keys::run(&context, command).await,
        AdminCommand::Audit(args) => audit::run(&context, args).await,
    }
}
