//! `holdfast admin restore`: a backup becomes a data directory, completely or not at all.
//!
//! Everything is first copied into the directory under a temporary name, and verified there. Only then are the files renamed, one
//! by one, while the directory is marked: it may be a mount, which nothing can be renamed onto.

mod replaced;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use service_kit::Clock;

use super::database::{self, queries};
use super::error::{AdminError, at, in_file, print};
use super::files::{self, BackupDatabase, Manifest};
use super::parts;
use crate::data_dir_lock::{DataDirLock, LOCK, UNFINISHED};

/// Restores a backup into the data directory
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The folder of the backup
    from: PathBuf,
    /// Restore into a data directory that is not in use but not empty; its content is kept beside it
    #[arg(long)]
    force: bool,
}

/// Restores into `data`, which is created if it is missing.
///
/// # Errors
/// [`AdminError`]; the data directory is then unchanged, or marked so that nothing is served from it.
pub(crate) fn run(args: &RestoreArgs, data: &Path) -> Result<(), AdminError> {
    let manifest = Manifest::read(&args.from)?;
    let databases = manifest.databases.iter();
    for (part, database) in databases.filter(|(_, it)| !it.schema.is_empty()) {
        database::refuse_newer(part, std::slice::from_ref(&database.schema))?;
    }
    let is_new = !data.exists();
    files::make_folder(data)?;
    let restored = into(args, &manifest, data);
    if restored.is_err() && is_new {
        // Succeeds only while it is as empty as it was created.
        let _ = fs::remove_file(data.join(LOCK));
        let _ = fs::remove_dir(data);
    }
    let kept = restored?;
    print(&format!(
        "restored into {}: the backup of {}",
        data.display(),
        manifest.taken_at
    ))?;
    if let Some(kept) = kept {
        print(&format!("the previous content is in {}", kept.display()))?;
    }
    Ok(())
}

/// Restores into a directory, and returns where its previous content is.
fn into(
    args: &RestoreArgs,
    manifest: &Manifest,
    data: &Path,
) -> Result<Option<PathBuf>, AdminError> {
    let _taken = DataDirLock::take_even_unfinished(data)?;
    let old = replaced::entries(data)?;
    if !old.is_empty() && !args.force {
        return Err(AdminError::refused(format!(
            "{} is not empty; with --force, its content is moved aside",
            data.display()
        )));
    }
    refuse_other_servers(data)?;
    // The last connection to a database has removed its log.
    let old = replaced::entries(data)?;
    let staged = StagingFolder::in_folder(data)?;
    stage(manifest, &args.from, &staged.0)?;

    let mark = data.join(UNFINISHED);
    if !mark.exists() {
        drop(files::make_file(&mark)?);
        files::sync_folder(data)?;
    }
    let kept = match old.as_slice() {
        [] => None,
        _ => Some(replaced::keep(data, &old, Clock::system().now())?),
    };
    for name in replaced::entries(&staged.0)? {
        let to = data.join(&name);
        fs::rename(staged.0.join(&name), &to).map_err(at(&to))?;
    }
    files::sync_folder(data)?;
    fs::remove_file(&mark).map_err(at(&mark))?;
    files::sync_folder(data)?;
    Ok(kept)
}

/// Rejects databases that others have open: a separate service, or an older version, does not lock the directory.
fn refuse_other_servers(data: &Path) -> Result<(), AdminError> {
    for name in parts::NAMES {
        let file = data.join(parts::file_name(name));
        // A damaged file is used by nobody, and is about to be replaced.
        if file.exists()
            && let Err(refused @ AdminError::Refused(_)) = database::open_alone(&file)
        {
            return Err(refused);
        }
    }
    Ok(())
}

/// Copies the backup and verifies the copy: checksums, pages, references, rows, versions.
fn stage(manifest: &Manifest, from: &Path, to: &Path) -> Result<(), AdminError> {
    for expected in &manifest.files {
        let source = from.join(&expected.name);
        let target = to.join(&expected.name);
        let kind = fs::symlink_metadata(&source).map_err(at(&source))?;
        if !kind.is_file() {
            return Err(AdminError::refused(format!(
                "{} is not a file",
                source.display()
            )));
        }
        if let Some(folder) = target.parent() {
            files::make_folder(folder)?;
        }
        let copied = files::copy(&source, &target, &expected.name)?;
        if copied != *expected {
            return Err(AdminError::refused(format!(
                "{} is not the file that was backed up: its checksum or size differs",
                source.display()
            )));
        }
        if let Some(folder) = target.parent() {
            files::sync_folder(folder)?;
        }
    }
    for name in parts::NAMES {
        let Some(database) = manifest.databases.get(name) else {
            return Err(AdminError::refused(format!(
                "the backup does not contain the {name} database"
            )));
        };
        check_database(name, database, &to.join(parts::file_name(name)))?;
    }
    files::sync_folder(to)
}

fn check_database(part: &str, expected: &BackupDatabase, file: &Path) -> Result<(), AdminError> {
    let db = database::open(file, Duration::ZERO)?;
    let versions = queries::versions(&db).map_err(in_file(file))?;
    database::refuse_newer(part, &versions)?;
    database::check(&db, file)?;
    let rows = queries::counts(&db).map_err(in_file(file))?;
    if rows != expected.rows {
        return Err(AdminError::refused(format!(
            "the {part} database does not have the row counts of its manifest"
        )));
    }
    Ok(())
}

/// The folder of the files until they are verified; removed when this is dropped.
struct StagingFolder(PathBuf);

impl StagingFolder {
    fn in_folder(data: &Path) -> Result<Self, AdminError> {
        let path = data.join(format!(".restore-{}", files::random_name()));
        files::make_folder(&path)?;
        Ok(Self(path))
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if let Err(cause) = fs::remove_dir_all(&self.0) {
            log::warn!("{} could not be removed: {cause}", self.0.display());
        }
    }
}
