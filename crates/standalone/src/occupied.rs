//! Who has the data folder: one process that serves from it, or one command that needs it at rest.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Locked while the folder is taken. It stays when its holder ends: removing it would let two processes
/// hold two files of this name.
pub(crate) const LOCK: &str = "serve.lock";
/// There while a restore puts its files into the folder.
pub(crate) const UNFINISHED: &str = "restore.unfinished";

/// The data folder, taken until this is dropped or its process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Occupied {
    _lock: File,
}

/// Why the folder cannot be had.
#[derive(Debug, Error)]
pub(crate) enum OccupiedError {
    /// Somebody else has it.
    #[error("{} is in use: a `holdfast serve` runs on it, or a restore or a move is at work; stop it first", .0.display())]
    Taken(PathBuf),
    /// Its files are those of two states.
    #[error(
        "a restore into {} was interrupted; run it again with --force: what is there is not whole", .0.display()
    )]
    Unfinished(PathBuf),
    /// The file system refused.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
}

impl Occupied {
    /// Takes a folder that holds one state, or none yet.
    ///
    /// # Errors
    /// [`OccupiedError`].
    pub(crate) fn take(folder: &Path) -> Result<Self, OccupiedError> {
        let taken = Self::take_even_unfinished(folder)?;
        refuse_unfinished(folder)?;
        Ok(taken)
    }

    /// The same for a restore, which puts an interrupted one right.
    ///
    /// # Errors
    /// [`OccupiedError`], but for [`OccupiedError::Unfinished`].
    pub(crate) fn take_even_unfinished(folder: &Path) -> Result<Self, OccupiedError> {
        let path = folder.join(LOCK);
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let lock = opened.map_err(|cause| OccupiedError::Io(path.clone(), cause))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OccupiedError::Taken(folder.to_owned())),
            Err(TryLockError::Error(cause)) => Err(OccupiedError::Io(path, cause)),
        }
    }
}

/// Refuses a folder into which a restore has put only a part of its files.
///
/// # Errors
/// [`OccupiedError::Unfinished`].
pub(crate) fn refuse_unfinished(folder: &Path) -> Result<(), OccupiedError> {
    if folder.join(UNFINISHED).exists() {
        return Err(OccupiedError::Unfinished(folder.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_free_again_afterwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Occupied::take(folder.path()).expect("free");
        let second = Occupied::take(folder.path()).expect_err("taken");
        assert!(matches!(second, OccupiedError::Taken(_)), "{second}");
        drop(first);
        Occupied::take(folder.path()).expect("free again");
    }
}
