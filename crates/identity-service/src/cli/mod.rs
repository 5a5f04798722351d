//! The command line of `identity-service`.

mod admin;
mod audit;
mod clients;
mod context;
mod keys;
mod users;

use std::ffi::OsString;
use std::process::ExitCode;

use broker::Broker;
use clap::{Parser, Subcommand};
use service_kit::cli::{self, CommonArgs, healthcheck, print, print_applied, runtime};
use service_kit::{Clock, config, termination};

pub use self::admin::{AdminArgs, run_admin};
use crate::config::Config;
use crate::running::{self, Deps, MIGRATIONS};

/// The name of the administration command, for hints.
const ADMIN: &str = "identity-service admin";

/// Accounts, tokens and teams.
#[derive(Debug, Parser)]
#[command(name = "identity-service", version)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service (the default)
    Serve,
    /// Apply pending migrations
    Migrate,
    /// Check the configuration without starting the service
    CheckConfig,
    /// Print the OpenAPI description
    Openapi,
    /// Ask a running service on this machine whether it is ready
    Healthcheck,
    /// Administer accounts, OAuth clients, signing keys and the audit log, with or without a running service
    Admin(AdminArgs),
}

/// Runs the command line of the binary; the first argument is the program's name.
pub fn run_cli(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::run(args, execute)
}

fn execute(args: Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let command = args.command.unwrap_or(Command::Serve);
    if matches!(command, Command::Openapi) {
        print(&crate::openapi().to_pretty_json()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = read_config(&args.common)?;
    if matches!(command, Command::Serve | Command::CheckConfig) {
        config.check_exposure()?;
    }
    match command {
        Command::Serve => runtime()?.block_on(serve(config))?,
        Command::Migrate => runtime()?.block_on(migrate(&config))?,
        Command::Healthcheck => runtime()?.block_on(healthcheck(config.listen))?,
        Command::Admin(args) => return Ok(run_admin(args, &config, ADMIN)),
        Command::CheckConfig => {
            config.home().check(&config.database)?;
            cli::print_time_zones()?;
        }
        Command::Openapi => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Loads and checks the configuration from file, environment and command line.
fn read_config(common: &CommonArgs) -> Result<Config, config::ConfigError> {
    let mut config: Config = config::load("IDENTITY", common.config.as_deref())?;
    if let Some(dir) = &common.data_dir {
        config.data_dir = Some(dir.clone());
    }
    config.check()?;
    Ok(config)
}

async fn migrate(config: &Config) -> Result<(), Box<dyn std::error::Error>> {
    let pool = running::open_pool(config)?;
    let migrations = service_kit::start::migrate(&pool, MIGRATIONS).await?;
    Ok(print_applied(&migrations)?)
}

async fn serve(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let url = config.broker.url("IDENTITY")?;
    let broker = Broker::connect(&url, &config.broker.prefix, "identity-service");
    let running = running::start(
        config,
        Deps {
            clock: Clock::system(),
            broker: broker.clone(),
            has_consumers: false,
        },
    )
    .await?;
    running.announce();
    termination().await?;
    running.stop().await;
    broker.close().await;
    Ok(())
}
