use std::process::ExitCode;

use clap::{Args, Subcommand};
use service_kit::cli::runtime;

use super::context::{Context, Failure};
use super::{audit, clients, keys, users};
use crate::config::Config;

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
    /// Accounts: make, find and change them
    #[command(subcommand)]
    Users(users::UsersCommand),
    /// OAuth clients: who may ask for access to accounts
    #[command(subcommand)]
    Clients(clients::ClientsCommand),
    /// The keys that sign tokens
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// What happened to accounts, newest first
    Audit(audit::AuditArgs),
}

/// Runs one command of the administration. `program` is how it was called (`identity-service admin`), for
/// what it says to do next. Exit code 1 says that it could not be done, 2 that it cannot be meant so.
#[must_use]
pub fn run_admin(args: AdminArgs, config: &Config, program: &'static str) -> ExitCode {
    let json = args.json;
    let outcome = runtime()
        .map_err(|error| Failure::Refused(error.to_string()))
        .and_then(|runtime| runtime.block_on(execute(args, config, program)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(json),
    }
}

async fn execute(args: AdminArgs, config: &Config, program: &'static str) -> Result<(), Failure> {
    let context = Context::open(config, args.json, program).await?;
    match args.command {
        AdminCommand::Users(command) => users::run(&context, command).await,
        AdminCommand::Clients(command) => clients::run(&context, command).await,
        AdminCommand::Keys(command) => keys::run(&context, command).await,
        AdminCommand::Audit(args) => audit::run(&context, args).await,
    }
}
