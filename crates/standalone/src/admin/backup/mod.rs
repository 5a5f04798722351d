//! `holdfast admin backup`: the whole data directory at one instant, while a server may be running.
//!
//! A backup is a folder, not an archive: its databases open with any SQLite, and a single file can be restored from it. Tools
//! that keep many generations see which files are new, and `tar` makes one file of it where one is wanted.

mod snapshot;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::SecondsFormat;
use clap::Args;
use service_kit::Clock;
use service_kit::cli::output::{self, Column};

use super::database::{self, queries};
use super::error::{AdminError, at, in_file, print};
use super::files::{self, BackupDatabase, BackupFile, FORMAT, MANIFEST, Manifest};
use super::parts::{self, PartDatabase};
use crate::Config;
use crate::data_dir_lock::{self, LOCK};

/// The keys that a standalone creates in its data directory.
const KEYS: [&str; 2] = ["secrets.key", "identity-keys.key"];

/// The folder of mails, if there is no mail server.
const MAILS: &str = "mail";

/// Writes a backup of the whole data directory, with or without a running server
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The folder to create; it must not exist
    folder: PathBuf,
    /// Print the manifest as JSON
    #[arg(long)]
    json: bool,
}

/// Writes the backup and prints what it contains.
///
/// # Errors
/// [`AdminError`]; no folder of that name exists then.
pub(crate) fn run(args: &BackupArgs, config: &Config) -> Result<(), AdminError> {
    refuse_servers(config)?;
    data_dir_lock::refuse_unfinished(&config.data_dir)?;
    let partial = PartialBackup::beside(&args.folder)?;
    let manifest = write(config, &partial.path)?;
    partial.finish(&args.folder)?;
    if args.json {
        let text = serde_json::to_string_pretty(&manifest);
        return print(&text.map_err(|cause| AdminError::Print(cause.to_string()))?);
    }
    print(&table(&manifest))?;
    print(&format!("\nbackup written: {}", args.folder.display()))?;
    for key in configured_keys(config) {
        print(&format!(
            "{key} is configured and not in the backup; store it elsewhere"
        ))?;
    }
    Ok(())
}

/// Rejects a part whose database is on a server, which has its own tools.
fn refuse_servers(config: &Config) -> Result<(), AdminError> {
    for (name, url) in parts::NAMES.iter().zip(config.databases()) {
        if url.is_some_and(|url| url.file().is_none()) {
            return Err(AdminError::refused(format!(
                "the {name} database is on PostgreSQL; this command backs up SQLite files, use pg_dump for PostgreSQL"
            )));
        }
    }
    Ok(())
}

/// Returns the names of configured keys, which are in no file.
fn configured_keys(config: &Config) -> Vec<&'static str> {
    let mut keys = Vec::new();
    if config.identity.keys.encryption_key.is_some() {
        keys.push("IDENTITY__KEYS__ENCRYPTION_KEY");
    }
    if config.is_shared_key_configured {
        keys.push("SECRETS__ENCRYPTION_KEY");
    }
    keys
}

fn write(config: &Config, folder: &Path) -> Result<Manifest, AdminError> {
    let parts = parts::list_databases(config);
    let snapshots = snapshot::of_one_instant(&parts)?;
    let taken_at = Clock::system().now();
    let mut databases = BTreeMap::new();
    let mut kept = Vec::new();
    for (part, snapshot) in parts.iter().zip(snapshots) {
        let name = PathBuf::from(parts::file_name(part.name));
        let to = folder.join(&name);
        snapshot::copy(&snapshot, &to)?;
        let expected = queries::counts(&snapshot).map_err(in_file(&part.file))?;
        // Until it is closed, the write-ahead log of the source grows.
        drop(snapshot);
        databases.insert(
            part.name.to_owned(),
            verified(part, &to, name.clone(), expected)?,
        );
        kept.push(files::sum(&to, &name)?);
    }
    kept.extend(copy_others(&config.data_dir, &parts, folder)?);
    let manifest = Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        taken_at: taken_at.to_rfc3339_opts(SecondsFormat::Micros, true),
        databases,
        files: kept,
    };
    manifest.write(folder)?;
    files::sync_folder(folder)?;
    Ok(manifest)
}

/// Verifies a copy by reading all of it.
fn verified(
    part: &PartDatabase,
    copy: &Path,
    file: PathBuf,
    expected: BTreeMap<String, i64>,
) -> Result<BackupDatabase, AdminError> {
    let db = database::open(copy, Duration::ZERO)?;
    database::check(&db, copy)?;
    let rows = queries::counts(&db).map_err(in_file(copy))?;
    if rows != expected {
        return Err(AdminError::refused(format!(
            "the copy of the {} database differs from the database; the disk may be faulty",
            part.name
        )));
    }
    let versions = queries::versions(&db).map_err(in_file(copy))?;
    Ok(BackupDatabase {
        file,
        schema: versions.last().cloned().unwrap_or_default(),
        rows,
    })
}

/// Copies the keys, the other files directly in the data directory, and the mails. The snapshots come first: a mail that they
/// call sent is a file by then.
fn copy_others(
    data: &Path,
    parts: &[PartDatabase; 3],
    folder: &Path,
) -> Result<Vec<BackupFile>, AdminError> {
    let mut kept = Vec::new();
    for name in others(data, parts)? {
        let to = folder.join(&name);
        if let Some(parent) = to.parent() {
            files::make_folder(parent)?;
        }
        kept.push(files::copy(&data.join(&name), &to, &name)?);
    }
    let mails = folder.join(MAILS);
    if mails.exists() {
        files::sync_folder(&mails)?;
    }
    Ok(kept)
}

fn others(data: &Path, parts: &[PartDatabase; 3]) -> Result<Vec<PathBuf>, AdminError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(data).map_err(at(data))? {
        let entry = entry.map_err(at(data))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_database = parts
            .iter()
            .any(|part| name.starts_with(&parts::file_name(part.name)));
        let is_passing = name.starts_with('.') || name == LOCK || name == MANIFEST;
        let path = entry.path();
        let is_file = match KEYS.contains(&name.as_str()) {
            // It may be a link to where the operator keeps it; a broken link must not go unnoticed.
            true => fs::metadata(&path).map_err(at(&path))?.is_file(),
            false => entry.file_type().map_err(at(&path))?.is_file(),
        };
        if is_file && !is_database && !is_passing {
            found.push(PathBuf::from(name));
        }
    }
    found.sort();
    let mails = data.join(MAILS);
    if mails.is_dir() {
        let names = files::below(&mails)?;
        found.extend(names.into_iter().map(|name| Path::new(MAILS).join(name)));
    }
    Ok(found)
}

fn table(manifest: &Manifest) -> String {
    let columns = [
        Column::Whole("DATABASE"),
        Column::Whole("SCHEMA"),
        Column::Number("TABLES"),
        Column::Number("ROWS"),
        Column::Number("BYTES"),
    ];
    let mut rows: Vec<[String; 5]> = Vec::new();
    for (name, database) in &manifest.databases {
        let mut files = manifest.files.iter();
        let size = files
            .find(|kept| kept.name == database.file)
            .map(|kept| kept.size);
        rows.push([
            name.clone(),
            database.schema.clone(),
            database.rows.len().to_string(),
            database.rows.values().sum::<i64>().to_string(),
            size.unwrap_or_default().to_string(),
        ]);
    }
    let others = manifest
        .files
        .len()
        .saturating_sub(manifest.databases.len());
    let said = output::table(columns, rows, "no databases");
    format!("{said}\nalso {}", output::count(others, "file"))
}

/// A backup that is being written, under a name that nobody mistakes for a finished one. It is removed unless it is finished.
struct PartialBackup {
    path: PathBuf,
    is_finished: bool,
}

impl PartialBackup {
    fn beside(folder: &Path) -> Result<Self, AdminError> {
        if fs::symlink_metadata(folder).is_ok() {
            return Err(AdminError::refused(format!(
                "{} already exists; a backup needs a new folder",
                folder.display()
            )));
        }
        let Some(name) = folder.file_name() else {
            return Err(AdminError::refused(format!(
                "{} is not the name of a folder",
                folder.display()
            )));
        };
        let name = format!(
            ".{}.partial-{}",
            name.to_string_lossy(),
            files::random_name()
        );
        let path = parent(folder).join(name);
        files::make_folder(&path)?;
        Ok(Self {
            path,
            is_finished: false,
        })
    }

    fn finish(mut self, folder: &Path) -> Result<(), AdminError> {
        fs::rename(&self.path, folder).map_err(at(folder))?;
        self.is_finished = true;
        files::sync_folder(&parent(folder))
    }
}

impl Drop for PartialBackup {
    fn drop(&mut self) {
        if !self.is_finished
            && let Err(cause) = fs::remove_dir_all(&self.path)
        {
            log::warn!("{} could not be removed: {cause}", self.path.display());
        }
    }
}

fn parent(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
