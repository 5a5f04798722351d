//! The command line of `worksession-service`.

mod admin;

use std::ffi::OsString;
use std::process::ExitCode;

use broker::{Broker, BrokerUrl};
use clap::{Parser, Subcommand};
use service_kit::cli::{self, CommonArgs};
use service_kit::{Clock, start};

pub use self::admin::{AdminArgs, run_admin};
use crate::config::{Config, PREFIX};
use crate::running::{self, Deps};

/// Holdfast's work-session service
#[derive(Debug, Parser)]
#[command(name = "worksession-service", version, about)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves requests until SIGTERM (the default); applies pending migrations first
    Serve,
    /// Applies pending migrations
    Migrate,
    /// Checks the configuration and reports what is wrong with it
    CheckConfig,
    /// Prints the OpenAPI description
    Openapi,
    /// Checks whether the running service is ready
    Healthcheck,
    /// Administers integrity flags and rollups, with or without a running service
    Admin(AdminArgs),
}

type Error = Box<dyn std::error::Error>;

/// Runs the command line of the program. The first argument is the program's name.
pub fn run_cli(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::run(args, execute)
}

fn execute(args: Args) -> Result<ExitCode, Error> {
    let command = args.command.unwrap_or(Command::Serve);
    if matches!(command, Command::Openapi) {
        cli::print(crate::openapi_json()?.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = Config::load(args.common.config.as_deref(), args.common.data_dir)?;
    if matches!(command, Command::Serve | Command::CheckConfig) {
        config.check_exposure()?;
    }
    match command {
        Command::Serve => cli::runtime()?.block_on(serve(config))?,
        Command::Migrate => cli::runtime()?.block_on(migrate(&config))?,
        Command::CheckConfig => {
            config.data_dir().check(&config.database)?;
            config.broker.outside_url::<BrokerUrl>(PREFIX).map(drop)?;
            cli::print_time_zones()?;
        }
        Command::Healthcheck => cli::runtime()?.block_on(cli::healthcheck(config.listen))?,
        Command::Admin(args) => return Ok(run_admin(args, &config)),
        Command::Openapi => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: Config) -> Result<(), Error> {
    let url = config.broker.outside_url(PREFIX)?;
    let broker = Broker::connect(&url, &config.broker.prefix, "worksession-service");
    let running = running::start(
        config,
        Deps {
            clock: Clock::system(),
            broker: broker.clone(),
            bodies: None,
        },
    )
    .await?;
    running.announce();
    if let Err(cause) = service_kit::termination().await {
        log::error!("cannot wait for signals: {cause}");
    }
    running.stop().await;
    broker.close().await;
    Ok(())
}

async fn migrate(config: &Config) -> Result<(), Error> {
    let applied = start::migrate(&running::open_pool(config)?, running::MIGRATIONS).await?;
    Ok(cli::print_applied(&applied)?)
}
