//! Files of a backup: copied, with checksums, and on disk.

mod manifest;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use service_kit::crypto::random_bytes;

use super::error::{AdminError, at};
pub(crate) use manifest::{BackupDatabase, BackupFile, FORMAT, MANIFEST, Manifest};

/// Bytes of a file that are in memory at a time.
const CHUNK: usize = 1 << 16;

/// Returns a random name, which nobody uses yet.
pub(crate) fn random_name() -> String {
    hex(&random_bytes::<6>())
}

/// Returns bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Creates a folder, and those above it, for its owner only.
///
/// # Errors
/// [`AdminError::File`].
pub(crate) fn make_folder(path: &Path) -> Result<(), AdminError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(at(path))
}

/// Creates a file that does not exist yet, for its owner only.
///
/// # Errors
/// [`AdminError::File`].
pub(crate) fn make_file(path: &Path) -> Result<File, AdminError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path).map_err(at(path))
}

/// Copies a file to a path where there is none, and describes it. The copy is on disk when this returns.
///
/// # Errors
/// [`AdminError::File`].
pub(crate) fn copy(from: &Path, to: &Path, name: &Path) -> Result<BackupFile, AdminError> {
    let mut source = File::open(from).map_err(at(from))?;
    let mut target = make_file(to)?;
    let kept = read(&mut source, from, name, |bytes| {
        target.write_all(bytes).map_err(at(to))
    })?;
    target.sync_all().map_err(at(to))?;
    Ok(kept)
}

/// Describes a file for the manifest, and syncs it to disk.
///
/// # Errors
/// [`AdminError::File`].
pub(crate) fn sum(path: &Path, name: &Path) -> Result<BackupFile, AdminError> {
    let mut file = File::open(path).map_err(at(path))?;
    let kept = read(&mut file, path, name, |_| Ok(()))?;
    file.sync_all().map_err(at(path))?;
    Ok(kept)
}

/// Syncs the entries of a folder to disk.
///
/// # Errors
/// [`AdminError::File`].
pub(crate) fn sync_folder(path: &Path) -> Result<(), AdminError> {
    let folder = File::open(path).map_err(at(path))?;
    folder.sync_all().map_err(at(path))
}

/// Whether a name from outside, joined to a folder, leads to a file inside of the folder.
pub(crate) fn is_inside(name: &Path) -> bool {
    let mut parts = name.components();
    name.file_name().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Lists the files below a folder by their paths in it, sorted. Left out are links and names that begin with a dot, which are
/// incomplete.
///
/// # Errors
/// [`AdminError::File`].
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, AdminError> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        let path = folder.join(&inside);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
            let kind = entry.file_type().map_err(at(&entry.path()))?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                open.push(inside.join(name));
            } else if kind.is_file() {
                found.push(inside.join(name));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(
    file: &mut File,
    path: &Path,
    name: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), AdminError>,
) -> Result<BackupFile, AdminError> {
    let mut digest = Context::new(&SHA256);
    let mut size: u64 = 0;
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = file.read(&mut chunk).map_err(at(path))?;
        let Some(bytes) = chunk.get(..length).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        digest.update(bytes);
        take(bytes)?;
        size = size.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
    Ok(BackupFile {
        name: name.to_owned(),
        size,
        sha256: hex(digest.finish().as_ref()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_manifest_leads_to_nowhere_else() {
        for inside in ["identity.db", "mail/a.eml", "a..b"] {
            assert!(is_inside(Path::new(inside)), "{inside}");
        }
        for outside in [
            "",
            "..",
            "../x",
            "mail/../../x",
            "/etc/passwd",
            ".",
            "mail/..",
        ] {
            assert!(!is_inside(Path::new(outside)), "{outside}");
        }
    }
}
