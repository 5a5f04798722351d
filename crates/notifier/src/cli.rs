use std::ffi::OsString;
use std::process::ExitCode;

use broker::{Broker, BrokerUrl};
use clap::{Parser, Subcommand};
use service_kit::cli::{self, CommonArgs};
use service_kit::config::ConfigError;
use service_kit::{Clock, logging, start};

use crate::admin::{AdminArgs, Caller, run_admin};
use crate::config::{Config, PREFIX};
use crate::running::{self, Deps};

/// Holdfast's notifier: tells chats what happens
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
    /// Works until SIGTERM (the default); applies pending migrations first
    Serve,
    /// Applies pending migrations
    Migrate,
    /// Reads the configuration and says what is wrong with it
    CheckConfig,
    /// Asks the running process whether it is ready
    Healthcheck,
    /// What was parked, and what waits to be delivered; beside a running notifier or without one
    Admin(AdminArgs),
}

type Error = Box<dyn std::error::Error>;

/// Runs the command line of the binary, its name being the first argument.
pub fn run_cli(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(message) => {
            // Help and version come this way too; clap knows which stream each belongs to.
            let printed = message.print();
            return if message.use_stderr() || printed.is_err() {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    logging::init();
    run(args).unwrap_or_else(|error| cli::finish(Err(error)))
}

fn run(args: Args) -> Result<ExitCode, Error> {
    let config = Config::load(args.common.config.as_deref(), args.common.data_dir)?;
    match args.command.unwrap_or(Command::Serve) {
        Command::Serve => runtime()?.block_on(serve(config))?,
        Command::Migrate => runtime()?.block_on(migrate(&config))?,
        Command::CheckConfig => broker_url(&config).map(drop)?,
        Command::Healthcheck => runtime()?.block_on(cli::healthcheck(config.listen))?,
        Command::Admin(args) => {
            let caller = Caller {
                program: "notifier admin",
                others: &[],
            };
            return Ok(run_admin(args, &config, caller));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Two threads: the database has threads of its own.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
}

async fn serve(config: Config) -> Result<(), Error> {
    let broker = Broker::connect(&broker_url(&config)?, &config.broker.prefix, "notifier");
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
    cli::print(&match applied.as_slice() {
        [] => "nothing to apply".to_owned(),
        names => format!("applied {}", names.join(", ")),
    })?;
    Ok(())
}

/// A process of its own has nobody inside to hear from.
fn broker_url(config: &Config) -> Result<BrokerUrl, ConfigError> {
    match config.broker_url()? {
        url @ BrokerUrl::Amqp(_) => Ok(url),
        BrokerUrl::Memory => Err(ConfigError::rule(format!(
            "{PREFIX}__BROKER__URL: an amqp:// or amqps:// address is needed; memory: works only inside the standalone"
        ))),
    }
}
