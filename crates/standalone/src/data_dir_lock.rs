//! The lock of the data directory, for one process that serves from it, or one command that needs it unused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Locked while the directory is in use. The file stays when its holder ends: removing it would let two processes lock two files
/// of this name.
pub(crate) const LOCK: &str = "serve.lock";
/// Exists while a restore puts its files into the directory.
pub(crate) const UNFINISHED: &str = "restore.unfinished";

/// The locked data directory, until this is dropped or its process ends in any way.
#[derive(Debug)]
pub(crate) struct DataDirLock {
    _lock: File,
}

/// Why the directory cannot be locked.
#[derive(Debug, Error)]
pub(crate) enum DataDirLockError {
    /// Another process has locked it.
    #[error("{} is in use by `holdfast serve`, or by a restore or a move; stop it first", .0.display())]
    Taken(PathBuf),
    /// Its files are those of two states.
    #[error(
        "a restore into {} was interrupted, so its content is incomplete; run it again with --force", .0.display()
    )]
    Unfinished(PathBuf),
    /// A file operation failed.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
}

impl DataDirLock {
    /// Locks a directory that contains one state, or none yet.
    ///
    /// # Errors
    /// [`DataDirLockError`].
    pub(crate) fn take(folder: &Path) -> Result<Self, DataDirLockError> {
        let taken = Self::take_even_unfinished(folder)?;
        refuse_unfinished(folder)?;
        Ok(taken)
    }

    /// Locks a directory for a restore, which repairs an interrupted one.
    ///
    /// # Errors
    /// [`DataDirLockError`], except [`DataDirLockError::Unfinished`].
    pub(crate) fn take_even_unfinished(folder: &Path) -> Result<Self, DataDirLockError> {
        let path = folder.join(LOCK);
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let lock = opened.map_err(|cause| DataDirLockError::Io(path.clone(), cause))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DataDirLockError::Taken(folder.to_owned())),
            Err(TryLockError::Error(cause)) => Err(DataDirLockError::Io(path, cause)),
        }
    }
}

/// Rejects a directory into which a restore has put only a part of its files.
///
/// # Errors
/// [`DataDirLockError::Unfinished`].
pub(crate) fn refuse_unfinished(folder: &Path) -> Result<(), DataDirLockError> {
    if folder.join(UNFINISHED).exists() {
        return Err(DataDirLockError::Unfinished(folder.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_once_and_free_again_afterwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = DataDirLock::take(folder.path()).expect("free");
        let second = DataDirLock::take(folder.path()).expect_err("taken");
        assert!(matches!(second, DataDirLockError::Taken(_)), "{second}");
        drop(first);
        DataDirLock::take(folder.path()).expect("free again");
    }
}
