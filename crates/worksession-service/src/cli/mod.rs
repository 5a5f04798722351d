//! The command line of `worksession-service`.

mod admin;

use std::ffi::OsString;
use std::process::ExitCode;

use broker::{Broker, BrokerUrl};
use clap::{Parser, Subcommand};
use service_kit::cli::{self, CommonArgs};
use service_kit::config::ConfigError;
use service_kit::{Clock, logging, start};

pub use self::admin::{AdminArgs, run_admin};
use crate::config::{Config, PREFIX};
use crate::running::{self, Deps, StartError};

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
    /// Answers requests until SIGTERM (the default); applies pending migrations first
    Serve,
    /// Applies pending migrations
    Migrate,
    /// Reads the configuration and says what is wrong with it
    CheckConfig,
    /// Prints the API description
    Openapi,
    /// Asks the running service whether it is ready
    Healthcheck,
    /// Flags and rollups, beside a running service or without one
    Admin(AdminArgs),
}

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

fn run(args: Args) -> Result<ExitCode, String> {
    let command = args.command.unwrap_or(Command::Serve);
    if matches!(command, Command::Openapi) {
        let json = crate::openapi_json().map_err(|cause| cause.to_string())?;
        cli::print(json.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    let config = Config::load(args.common.config.as_deref(), args.common.data_dir)
        .map_err(|cause| cause.to_string())?;
    if matches!(command, Command::Serve | Command::CheckConfig) {
        let exposure = config.check_exposure();
        exposure.map_err(|cause| cause.to_string())?;
    }
    let command = match command {
        Command::Admin(args) => return Ok(run_admin(args, &config)),
        command => command,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime
        .map_err(|cause| cause.to_string())?
        .block_on(async {
            match command {
                Command::Serve => serve(config).await.map_err(|cause| cause.to_string()),
                Command::Migrate => migrate(&config).await.map_err(|cause| cause.to_string()),
                Command::CheckConfig => broker_url(&config)
                    .map(drop)
                    .map_err(|cause| cause.to_string()),
                Command::Healthcheck => cli::healthcheck(config.listen).await,
                Command::Openapi | Command::Admin(_) => Ok(()),
            }
        })?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: Config) -> Result<(), StartError> {
    let broker = Broker::connect(
        &broker_url(&config).map_err(start::StartError::from)?,
        &config.broker.prefix,
        "worksession-service",
    );
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
        log::error!("no signal can be waited for: {cause}");
    }
    running.stop().await;
    broker.close().await;
    Ok(())
}

async fn migrate(config: &Config) -> Result<(), Box<dyn std::error::Error>> {
    let applied = start::migrate(&running::open_pool(config)?, running::MIGRATIONS).await?;
    cli::print(&match applied.len() {
        0 => "nothing to apply".to_owned(),
        _ => format!("applied {}", applied.join(", ")),
    })?;
    Ok(())
}

/// A process of its own has nobody inside to talk to.
fn broker_url(config: &Config) -> Result<BrokerUrl, ConfigError> {
    let url = config
        .broker
        .url
        .as_ref()
        .map(|url| url.expose().parse::<BrokerUrl>())
        .transpose();
    let url = url.map_err(|cause| ConfigError::rule(format!("{PREFIX}__BROKER__URL: {cause}")))?;
    match url {
        Some(url @ BrokerUrl::Amqp(_)) => Ok(url),
        None | Some(BrokerUrl::Memory) => Err(ConfigError::rule(format!(
            "{PREFIX}__BROKER__URL: an amqp:// or amqps:// address is needed; memory: works only inside the standalone"
        ))),
    }
}
