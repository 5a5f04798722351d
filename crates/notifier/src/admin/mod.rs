//! What can be administered from the machine's command line, beside a running notifier or without one.

mod context;
mod deliveries;
mod parked;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use service_kit::cli;

pub use context::Caller;

use crate::config::Config;
use context::{Context, Failure};

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
    /// Events that a consumer could not read: look at them, send them back, drop them
    #[command(subcommand)]
    Parked(parked::ParkedCommand),
    /// Messages to chats, mails and calls of webhooks: what waits and what became of it
    Deliveries(deliveries::DeliveriesArgs),
}

/// Runs one command of the administration. Exit code 1 says that it, or a part of it, could not be done,
/// and 2 that it cannot be meant so.
#[must_use]
pub fn run_admin(args: AdminArgs, config: &Config, caller: Caller<'_>) -> ExitCode {
    let json = args.json;
    let outcome = cli::runtime()
        .map_err(|cause| Failure(cause.to_string()))
        .and_then(|runtime| runtime.block_on(execute(args, config, caller)));
    outcome.unwrap_or_else(|failure| cli::fail(&failure.0, json))
}

async fn execute(
    args: AdminArgs,
    config: &Config,
    caller: Caller<'_>,
) -> Result<ExitCode, Failure> {
    let context = Context::open(config, caller, args.json).await?;
    match args.command {
        AdminCommand::Parked(command) => parked::run(&context, command).await,
        AdminCommand::Deliveries(args) => deliveries::run(&context, args).await,
    }
}
