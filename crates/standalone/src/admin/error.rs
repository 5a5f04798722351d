use std::io;
use std::path::{Path, PathBuf};

use db_kit::DbError;
use thiserror::Error;

use crate::data_dir_lock::DataDirLockError;
use crate::running::StartError;

/// Why a command on the whole data failed. One sentence, without any secret.
#[derive(Debug, Error)]
pub(crate) enum AdminError {
    /// A rule of the command itself is broken.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Config(#[from] StartError),
    /// The data directory is in use, or incomplete.
    #[error(transparent)]
    DataDirLock(#[from] DataDirLockError),
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: {}", .0.display(), .1)]
    Sqlite(PathBuf, rusqlite::Error),
    /// A PostgreSQL database failed, that of this part.
    #[error("{0}, PostgreSQL: {1}")]
    Postgres(&'static str, DbError),
    /// The output cannot be printed.
    #[error("{0}")]
    Print(String),
}

impl AdminError {
    /// Creates the error of a rule of the command itself.
    pub(crate) fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused(sentence.into())
    }
}

/// Adds the path to an error of the file system.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> AdminError {
    let path = path.to_owned();
    move |cause| AdminError::File(path, cause)
}

/// Adds the file to an error of SQLite.
pub(crate) fn in_file(path: &Path) -> impl FnOnce(rusqlite::Error) -> AdminError {
    let path = path.to_owned();
    move |cause| AdminError::Sqlite(path, cause)
}

pub(super) fn print(text: &str) -> Result<(), AdminError> {
    service_kit::cli::print(text).map_err(AdminError::Print)
}
