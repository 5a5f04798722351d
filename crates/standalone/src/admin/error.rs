use std::io;
use std::path::{Path, PathBuf};

use db_kit::DbError;
use thiserror::Error;

use crate::occupied::OccupiedError;
use crate::running::StartError;

/// Why a command on the whole data was not carried out. One sentence, without any secret.
#[derive(Debug, Error)]
pub(crate) enum AdminError {
    /// A rule of the command itself.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Config(#[from] StartError),
    /// The data folder is in use, or not whole.
    #[error(transparent)]
    Occupied(#[from] OccupiedError),
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
    #[error("{}: {}", .0.display(), .1)]
    Sqlite(PathBuf, rusqlite::Error),
    /// A PostgreSQL database, by the part that it is for.
    #[error("{0}, PostgreSQL: {1}")]
    Postgres(&'static str, DbError),
    /// What was asked for cannot be printed.
    #[error("{0}")]
    Print(String),
}

impl AdminError {
    /// A rule of the command itself.
    pub(crate) fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused(sentence.into())
    }
}

/// Adds the path to what the file system says.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> AdminError {
    let path = path.to_owned();
    move |cause| AdminError::File(path, cause)
}

/// Adds the file to what SQLite says.
pub(crate) fn in_file(path: &Path) -> impl FnOnce(rusqlite::Error) -> AdminError {
    let path = path.to_owned();
    move |cause| AdminError::Sqlite(path, cause)
}

pub(super) fn print(text: &str) -> Result<(), AdminError> {
    service_kit::cli::print(text).map_err(AdminError::Print)
}
