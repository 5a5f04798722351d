use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use service_kit::Clock;
use service_kit::cli::{self, CommonArgs, runtime};

use crate::data_dir_lock::DataDirLock;
use crate::{Config, admin, demo, running};

/// Holdfast in one process: accounts, focus sessions and notifications on SQLite
#[derive(Debug, Parser)]
#[command(name = "holdfast", version, about)]
struct Args {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answers requests until SIGTERM (the default); applies pending migrations first
    Serve {
        /// Adds a user with a team, projects and 90 days of sessions, and prints the sign-in
        #[arg(long)]
        demo: bool,
    },
    /// Applies pending migrations of all parts
    Migrate,
    /// Checks the configuration and reports what is wrong with it
    CheckConfig,
    /// Prints the OpenAPI document of an area
    Openapi {
        /// The area
        area: Area,
    },
    /// Checks whether all parts of the running process are ready
    Healthcheck,
    /// Administers a part or the whole data, with or without a running process
    #[command(subcommand)]
    Admin(Admin),
}

#[derive(Debug, Subcommand)]
enum Admin {
    /// Accounts, signing keys and the audit log
    Identity(identity_service::AdminArgs),
    /// Integrity flags of sessions, and rollups
    Worksession(worksession_service::AdminArgs),
    /// Dead letters, and deliveries that are not sent yet
    Notifier(notifier::AdminArgs),
    Backup(admin::BackupArgs),
    Restore(admin::RestoreArgs),
    MoveToPostgres(admin::MoveArgs),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Area {
    Identity,
    Worksession,
}

type Error = Box<dyn std::error::Error>;

/// Runs the command line of the binary, whose name is the first argument.
pub fn run_cli(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    cli::run(args, execute)
}

fn execute(args: Args) -> Result<ExitCode, Error> {
    let command = args.command.unwrap_or(Command::Serve { demo: false });
    if let Command::Openapi { area } = command {
        cli::print(describe(area)?.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Command::Admin(Admin::Restore(restore)) = &command {
        // Before the whole configuration is loaded, which would create keys where those of the backup have to go.
        let folder = Config::folder(
            args.common.config.as_deref(),
            args.common.data_dir.as_deref(),
        )?;
        admin::restore(restore, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let load = match command {
        Command::Admin(_) => Config::load_made,
        Command::CheckConfig | Command::Healthcheck => Config::load_unmade,
        _ => Config::load,
    };
    let config = load(
        args.common.config.as_deref(),
        args.common.data_dir.as_deref(),
    )?;
    if matches!(command, Command::Serve { .. } | Command::CheckConfig) {
        config.check_exposure()?;
    }
    match command {
        Command::Serve { demo } => runtime()?.block_on(serve(config, demo))?,
        Command::Migrate => cli::print_applied(&running::migrate(&config)?)?,
        Command::Healthcheck => runtime()?.block_on(healthcheck(&config))?,
        Command::Admin(Admin::Identity(args)) => {
            let program = "holdfast admin identity";
            return Ok(identity_service::run_admin(args, &config.identity, program));
        }
        Command::Admin(Admin::Worksession(args)) => {
            return Ok(worksession_service::run_admin(args, &config.worksession));
        }
        Command::Admin(Admin::Notifier(args)) => {
            let caller = notifier::AdminInvocation {
                program: "holdfast admin notifier",
                others: &[
                    ("identity", &config.identity.database),
                    ("worksession", &config.worksession.database),
                ],
            };
            return Ok(notifier::run_admin(args, &config.notifier, caller));
        }
        Command::Admin(Admin::Backup(args)) => admin::backup(&args, &config)?,
        Command::Admin(Admin::MoveToPostgres(args)) => admin::move_to_postgres(&args, &config)?,
        Command::CheckConfig => cli::print_time_zones()?,
        Command::Openapi { .. } | Command::Admin(Admin::Restore(_)) => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(config: Config, with_demo: bool) -> Result<(), Error> {
    let _taken = DataDirLock::take(&config.data_dir)?;
    let sign_in = if with_demo {
        Some(demo::fill(&config).await?)
    } else {
        None
    };
    let running = running::start(config, Clock::system()).await?;
    running.announce();
    if let Some(sign_in) = sign_in {
        #[expect(clippy::print_stderr, reason = "asked for with --demo; not a log line")]
        {
            eprintln!("demo sign-in: {sign_in}");
        }
    }
    service_kit::termination().await?;
    running.stop().await;
    Ok(())
}

async fn healthcheck(config: &Config) -> Result<(), Error> {
    for listen in [
        config.identity.listen,
        config.worksession.listen,
        config.notifier.listen,
    ] {
        cli::healthcheck(listen).await?;
    }
    Ok(())
}

fn describe(area: Area) -> Result<String, Error> {
    Ok(match area {
        Area::Identity => identity_service::openapi().to_pretty_json()?,
        Area::Worksession => worksession_service::openapi().to_pretty_json()?,
    })
}
