//! `holdfast admin move-to-postgres`: moves the data of a standalone to three services.
//!
//! Each database is copied in one PostgreSQL transaction, read back and compared. The three are committed one after the other,
//! once all of them are complete. A move that is killed before that leaves tables without rows, which the next one accepts.

mod cell;
mod copy;
mod plan;
mod queries;
mod settings;
mod target;

use db_kit::{Backend, DatabaseUrl, Pool, PoolOptions, migrations};

use clap::Args;
use service_kit::cli::output::{self, Column};
use service_kit::config::SecretText;

use super::database;
use super::error::{AdminError, print};
use super::parts::{self, PartDatabase};
use crate::Config;
use crate::data_dir_lock::DataDirLock;
use target::{MoveTarget, MovedTable};

/// Copies all data into three empty PostgreSQL databases, for separate services
///
/// A part without a URL here uses that of its service's configuration: IDENTITY__DATABASE__URL and so on, or
/// IDENTITY__DATABASE__URL_FILE, which keeps the password out of the command line.
#[derive(Debug, Args)]
pub(crate) struct MoveArgs {
    /// The identity service's database, postgres://…
    #[arg(long, value_name = "URL")]
    identity: Option<SecretText>,
    /// The work-session service's database
    #[arg(long, value_name = "URL")]
    worksession: Option<SecretText>,
    /// The notifier's database
    #[arg(long, value_name = "URL")]
    notifier: Option<SecretText>,
}

/// Copies everything, and prints what arrived and which settings the services need.
///
/// # Errors
/// [`AdminError`]; before the commits, the databases have no rows then.
pub(crate) fn run(args: &MoveArgs, config: &Config) -> Result<(), AdminError> {
    let _taken = DataDirLock::take(&config.data_dir)?;
    let urls = urls(args, config)?;
    let parts = parts::list_databases(config);
    for part in &parts {
        bring_up_to_date(part)?;
    }
    // All of them are checked before anything is created in one.
    let mut targets = Vec::new();
    for (part, url) in parts.iter().zip(urls) {
        targets.push(MoveTarget::open(part, url)?);
    }
    for target in &targets {
        target.migrate()?;
    }
    let mut moved = Vec::new();
    for target in &mut targets {
        moved.extend(target.copy()?);
    }
    for target in &mut targets {
        target.commit()?;
    }
    for target in &mut targets {
        if let Err(error) = target.analyze() {
            log::warn!(
                "the databases are complete, but slow until PostgreSQL has analyzed them: {error}"
            );
        }
    }
    print(&table(&moved))?;
    print(&settings::needed(config)?)
}

/// Returns the destination of each part's data.
fn urls(args: &MoveArgs, config: &Config) -> Result<Vec<DatabaseUrl>, AdminError> {
    let given = [&args.identity, &args.worksession, &args.notifier];
    let parts = parts::NAMES.into_iter().zip(given).zip(config.databases());
    let urls = parts.map(|((part, given), configured)| url(part, given.as_ref(), configured));
    urls.collect()
}

fn url(
    part: &str,
    given: Option<&SecretText>,
    configured: Option<&DatabaseUrl>,
) -> Result<DatabaseUrl, AdminError> {
    let given: Option<DatabaseUrl> = match given {
        None => None,
        // The error does not repeat the text, which may contain a password.
        Some(text) => Some(
            text.expose()
                .parse()
                .map_err(|cause| AdminError::refused(format!("--{part}: {cause}")))?,
        ),
    };
    let url = given.or_else(|| configured.cloned());
    url.filter(|url| url.backend() == Backend::Postgres)
        .ok_or_else(|| {
            AdminError::refused(format!(
                "no target for the {part} database: set --{part} postgres://… or {}__DATABASE__URL",
                part.to_uppercase()
            ))
        })
}

/// Migrates the file to this version, as `serve` would.
fn bring_up_to_date(part: &PartDatabase) -> Result<(), AdminError> {
    if !part.file.exists() {
        return Err(AdminError::refused(format!(
            "there is no {}, so there is nothing to move",
            part.file.display()
        )));
    }
    drop(database::open_whole(part)?);
    let pool = Pool::open(PoolOptions::new(DatabaseUrl::sqlite_file(&part.file), 1));
    let applied = migrations::run(&pool, part.migrations);
    let applied = applied
        .map_err(|cause| AdminError::refused(format!("{}: {cause}", part.file.display())))?;
    for name in applied {
        log::info!("applied the migration {name} to {}", part.file.display());
    }
    Ok(())
}

fn table(moved: &[MovedTable]) -> String {
    let columns = [
        Column::Whole("DATABASE"),
        Column::Whole("TABLE"),
        Column::Number("ROWS"),
        Column::Whole("CHECKSUM OF BOTH"),
    ];
    let rows = moved.iter().map(|one| {
        [
            one.part.to_owned(),
            one.table.clone(),
            one.checksum.rows.to_string(),
            one.checksum.to_string(),
        ]
    });
    output::table(columns, rows, "no tables")
}
