use std::ffi::OsString;
use std::process::ExitCode;

use broker::{Broker, BrokerUrl};
use clap::{Parser, Subcommand};
use service_kit::cli::{self, CommonArgs, runtime};
use service_kit::{Clock, start};

use crate::admin::{AdminArgs, AdminInvocation, run_admin};
use crate::config::{Config, PREFIX};
use crate::running::{self, Deps};

/// Holdfast's notifier: delivers chat messages, webhook calls and mails
#[derive(Debug, Parser)]
#[command(name = "notifier", version, about)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Delivers until SIGTERM (the default); applies pending migrations first
    Serve,
    /// Applies pending migrations
    Migrate,
    /// Checks the configuration and reports what is wrong with it
    CheckConfig,
    /// Checks whether the running process is ready
    Healthcheck,
    /// Administers dead letters and deliveries; works beside a running notifier or without one
    Admin(AdminArgs),
}

type Error = Box<dyn std::error::Error>;

/// Runs the command line of the binary. The first argument is its name.
pub fn run_cli(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::run(args, execute)
}

fn execute(args: Args) -> Result<ExitCode, Error> {
    let config = Config::load(args.common.config.as_deref(), args.common.data_dir)?;
    match args.command.unwrap_or(Command::Serve) {
        Command::Serve => runtime()?.block_on(serve(config))?,
        Command::Migrate => runtime()?.block_on(migrate(&config))?,
        Command::CheckConfig => {
            config.home().check(&config.database)?;
            config.broker.outside_url::<BrokerUrl>(PREFIX).map(drop)?;
        }
        Command::Healthcheck => runtime()?.block_on(cli::healthcheck(config.listen))?,
        Command::Admin(args) => {
            let caller = AdminInvocation {
                program: "notifier admin",
                others: &[],
            };
            return Ok(run_admin(args, &config, caller));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: Config) -> Result<(), Error> {
    let url = config.broker.outside_url(PREFIX)?;
    let broker = Broker::connect(&url, &config.broker.prefix, "notifier");
    let deps = Deps {
        clock: Clock::system(),
        broker: broker.clone(),
    };
    let running = running::start(config, deps).await?;
    running.announce();
    service_kit::termination().await?;
    running.stop().await;
    broker.close().await;
    Ok(())
}

async fn migrate(config: &Config) -> Result<(), Error> {
    let applied = start::migrate(&running::open_pool(config)?, running::MIGRATIONS).await?;
    Ok(cli::print_applied(&applied)?)
}
