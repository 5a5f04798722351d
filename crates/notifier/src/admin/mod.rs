//! Administration from the command line of the machine, beside a running notifier or without one.

mod context;
mod dead_letters;
mod deliveries;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use service_kit::cli;

pub use context::AdminInvocation;

use crate::config::Config;
use context::{Context, Failure};

/// Administration from the command line of the machine.
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
    /// List, show, replay or drop dead letters: events that a consumer could not read
    #[command(subcommand, name = "parked")]
    DeadLetters(dead_letters::Command),
    /// List, show or retry deliveries: chat messages, mails, webhook and logout calls
    Deliveries(deliveries::DeliveriesArgs),
}

/// Runs one administration command. Exit code 1 means that at least a part of it failed; 2 means that the arguments
/// are not valid.
#[must_use]
pub fn run_admin(args: AdminArgs, config: &Config, caller: AdminInvocation<'_>) -> ExitCode {
    let json = args.json;
    let outcome = cli::runtime()
        .map_err(|cause| Failure(cause.to_string()))
        .and_then(|runtime| runtime.block_on(execute(args, config, caller)));
    outcome.unwrap_or_else(|failure| cli::fail(&failure.0, json))
}

async fn execute(
    args: AdminArgs,
    config: &Config,
    caller: AdminInvocation<'_>,
) -> Result<ExitCode, Failure> {
    let context = Context::open(config, caller, args.json).await?;
    match args.command {
        AdminCommand::DeadLetters(command) => dead_letters::run(&context, command).await,
        AdminCommand::Deliveries(args) => deliveries::run(&context, args).await,
    }
}
