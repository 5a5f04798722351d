//! What was in the data folder before.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use crate::admin::error::{AdminError, at};
use crate::admin::files;
use crate::occupied::{LOCK, UNFINISHED};

/// What a replaced state is called behind the folder's name, or in the folder.
const REPLACED: &str = "replaced-";

/// An empty file that is moved to see whether files can be.
const PROBE: &str = ".restore-probe";

/// What counts in a data folder: not the lock and the mark, what a restore has left behind under a passing name, or
/// states that were replaced before.
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
            // What the file system itself keeps at the root of a volume.
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

/// Moves the entries beside the folder; into it where it is a mount, or its parent is somebody else's.
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

/// Whether a folder can be made there and files of the data folder be renamed into it.
fn takes_renames(data: &Path, place: &Path) -> bool {
    if files::make_folder(place).is_err() {
        return false;
    }
    // A file of its own: the mark of a restore has to lie where it is.
    let (probe, there) = (data.join(PROBE), place.join(PROBE));
    let moved = fs::write(&probe, "").and_then(|()| fs::rename(&probe, &there));
    let cleared = moved.and_then(|()| fs::remove_file(&there));
    if cleared.is_err() {
        // Empty: nothing else was moved.
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
