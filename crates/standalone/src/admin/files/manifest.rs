use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{is_inside, make_file};
use crate::admin::error::{AdminError, at};

/// The manifest's name in a backup. It is written last: a folder without it is not a backup.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The layout of backups that this version writes and reads.
pub(crate) const FORMAT: u32 = 1;

/// The description of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The layout of the folder.
    pub(crate) format: u32,
    /// The version of Holdfast that wrote it.
    pub(crate) version: String,
    /// The instant of the backup, in RFC 3339 and UTC.
    pub(crate) taken_at: String,
    /// The databases by part.
    pub(crate) databases: BTreeMap<String, BackupDatabase>,
    /// All files except this one.
    pub(crate) files: Vec<BackupFile>,
}

/// The description of a database in a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BackupDatabase {
    pub(crate) file: PathBuf,
    /// The version of its newest migration.
    pub(crate) schema: String,
    pub(crate) rows: BTreeMap<String, i64>,
}

/// A file of a backup.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupFile {
    /// Its path in the folder.
    pub(crate) name: PathBuf,
    /// In bytes.
    pub(crate) size: u64,
    /// In hexadecimal.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Writes the manifest into a folder. It is on disk when this returns.
    ///
    /// # Errors
    /// [`AdminError::File`].
    pub(crate) fn write(&self, folder: &Path) -> Result<(), AdminError> {
        let path = folder.join(MANIFEST);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|cause| AdminError::refused(format!("{MANIFEST}: {cause}")))?;
        text.push('\n');
        let mut file = make_file(&path)?;
        file.write_all(text.as_bytes()).map_err(at(&path))?;
        file.sync_all().map_err(at(&path))
    }

    /// Reads the manifest of a backup.
    ///
    /// # Errors
    /// A sentence when there is none that this version reads, or when a path in it leads out of the folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, AdminError> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|cause| {
            AdminError::refused(format!(
                "{} is not a backup of holdfast: {MANIFEST}: {cause}",
                folder.display()
            ))
        })?;
        let broken = |cause: String| AdminError::refused(format!("{}: {cause}", path.display()));
        let format: Format =
            serde_json::from_str(&text).map_err(|cause| broken(cause.to_string()))?;
        if format.format != FORMAT {
            return Err(broken(format!(
                "the backup has the format {}, written by holdfast {}; this version reads {FORMAT}",
                format.format, format.version
            )));
        }
        let read: Self = serde_json::from_str(&text).map_err(|cause| broken(cause.to_string()))?;
        let mut names = read.files.iter().map(|file| &file.name);
        if let Some(name) = names.find(|name| !is_inside(name)) {
            return Err(broken(format!("{} is outside the backup", name.display())));
        }
        Ok(read)
    }
}

/// The fields of every layout.
#[derive(Deserialize)]
struct Format {
    format: u32,
    #[serde(default)]
    version: String,
}
