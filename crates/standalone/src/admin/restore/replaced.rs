//! The previous content of the data directory.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::admin::error::{AdminError, at};
use crate::admin::files;
use crate::data_dir_lock::{LOCK, UNFINISHED};

/// The name of a replaced state, after that of the directory or inside of it.
const REPLACED: &str = "replaced-";

/// An empty file that is moved to see whether files can be renamed.
const PROBE: &str = ".restore-probe";

/// Lists the content of a data directory, without the lock and the mark, temporary files of a restore, and states that were
/// replaced before.
///
/// # Errors
/// [`AdminError::File`].
pub(super) fn entries(folder: &Path) -> Result<Vec<OsString>, AdminError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let name = entry.map_err(at(folder))?.file_name();
        let text = name.to_string_lossy();
        let is_ours = text == LOCK
            || text == UNFINISHED
            // A folder of the file system itself, at the root of a volume.
            || text == "lost+found"
            || text.starts_with(".restore-")
            || text.starts_with(REPLACED);
        if !is_ours {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Moves the entries beside the directory; inside of it if it is a mount, or its parent belongs to somebody else.
///
/// # Errors
/// [`AdminError::File`].
pub(super) fn keep(
    data: &Path,
    entries: &[OsString],
    now: DateTime<Utc>,
) -> Result<PathBuf, AdminError> {
    let dated = format!("{REPLACED}{}", now.format("%Y-%m-%dT%H%M%S%6fZ"));
    let data = data.canonicalize().map_err(at(data))?;
    let beside = data.file_name().map(|name| {
        let name = format!("{}.{dated}", name.to_string_lossy());
        data.with_file_name(name)
    });
    if let Some(beside) = beside.filter(|beside| takes_renames(&data, beside)) {
        move_all(&data, entries, &beside)?;
        return Ok(beside);
    }
    let inside = data.join(dated);
    files::make_folder(&inside)?;
    move_all(&data, entries, &inside)?;
    Ok(inside)
}

/// Whether a folder can be created there, and files of the data directory can be renamed into it.
fn takes_renames(data: &Path, place: &Path) -> bool {
    if files::make_folder(place).is_err() {
        return false;
    }
    // A separate file, because the mark of a restore must stay where it is.
    let (probe, there) = (data.join(PROBE), place.join(PROBE));
    let moved = fs::write(&probe, "").and_then(|()| fs::rename(&probe, &there));
    let cleared = moved.and_then(|()| fs::remove_file(&there));
    if cleared.is_err() {
        // The folder is empty: nothing else was moved.
        let _ = fs::remove_file(&probe);
        let _ = fs::remove_dir(place);
    }
    cleared.is_ok()
}

fn move_all(from: &Path, entries: &[OsString], to: &Path) -> Result<(), AdminError> {
    for name in entries {
        let path = from.join(name);
        fs::rename(&path, to.join(name)).map_err(at(&path))?;
    }
    files::sync_folder(to)?;
    files::sync_folder(from)
}
