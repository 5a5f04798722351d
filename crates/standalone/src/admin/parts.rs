use std::path::PathBuf;

use db_kit::{DatabaseUrl, Migrations};
use diesel::migration::MigrationSource as _;
use diesel::sqlite::Sqlite;

use super::error::AdminError;
use crate::Config;

/// The names of the parts. Their files have these names, followed by `.db`.
pub(crate) const NAMES: [&str; 3] = ["identity", "worksession", "notifier"];

/// One of the three parts, with its SQLite file.
#[derive(Clone)]
pub(crate) struct PartDatabase {
    /// `identity`, `worksession` or `notifier`.
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
    /// The migrations of its database.
    pub(crate) migrations: Migrations,
}

/// Returns the three parts with the files of their databases. A part that is configured for PostgreSQL gets the file that the
/// standalone would use.
pub(crate) fn list_databases(config: &Config) -> [PartDatabase; 3] {
    let mut urls = config.databases().into_iter();
    NAMES.map(|name| {
        let file = urls.next().flatten().and_then(DatabaseUrl::file);
        PartDatabase {
            name,
            file: file.unwrap_or_else(|| config.data_dir.join(file_name(name))),
            migrations: migrations(name),
        }
    })
}

/// Returns the file name of a part, in a data directory or a backup.
pub(crate) fn file_name(part: &str) -> String {
    format!("{part}.db")
}

/// Returns the migrations of a part.
pub(crate) fn migrations(part: &str) -> Migrations {
    match part {
        "identity" => identity_service::MIGRATIONS,
        "worksession" => worksession_service::MIGRATIONS,
        _ => notifier::MIGRATIONS,
    }
}

/// Returns the versions of the migrations that this program knows, oldest first.
///
/// # Errors
/// A sentence when they cannot be read.
pub(crate) fn known_versions(migrations: Migrations) -> Result<Vec<String>, AdminError> {
    let known = migrations.sqlite;
    let known: Vec<Box<dyn diesel::migration::Migration<Sqlite>>> = known
        .migrations()
        .map_err(|cause| AdminError::refused(format!("the migrations: {cause}")))?;
    let versions = known.iter().map(|it| it.name().version().to_string());
    let mut versions: Vec<String> = versions.collect();
    versions.sort();
    Ok(versions)
}
