//! SQLite files as a whole: opened beside a running server, opened alone, checked.

pub(crate) mod queries;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{AdminError, in_file};
use super::parts::{self, PartDatabase};

/// Opens an existing database.
///
/// # Errors
/// [`AdminError::Sqlite`], also for a missing file, which is not created.
pub(crate) fn open(file: &Path, patience: Duration) -> Result<Connection, AdminError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(file, flags).map_err(in_file(file))?;
    db.busy_timeout(patience).map_err(in_file(file))?;
    Ok(db)
}

/// Opens a database that nobody else has open, and keeps everybody else out.
///
/// # Errors
/// A sentence when another process has it open.
pub(crate) fn open_alone(file: &Path) -> Result<Connection, AdminError> {
    // Waits for a process that is just closing it.
    let db = open(file, Duration::from_secs(1))?;
    match queries::take_alone(&db) {
        Ok(()) => Ok(db),
        Err(cause) if is_busy(&cause) => Err(AdminError::refused(format!(
            "{} is open in another process; stop it first",
            file.display()
        ))),
        Err(cause) => Err(in_file(file)(cause)),
    }
}

/// Whether another connection holds a lock.
pub(crate) fn is_busy(cause: &rusqlite::Error) -> bool {
    matches!(
        cause.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Checks that a file is not damaged.
///
/// # Errors
/// A sentence that says what is wrong.
pub(crate) fn check(db: &Connection, file: &Path) -> Result<(), AdminError> {
    match queries::complaint(db).map_err(in_file(file))? {
        None => Ok(()),
        Some(complaint) => Err(AdminError::refused(format!(
            "{} is damaged: {complaint}",
            file.display()
        ))),
    }
}

/// Rejects a database that a newer version has migrated: the meaning of its migrations is unknown here.
///
/// # Errors
/// A sentence that names the migration.
pub(crate) fn refuse_newer(part: &str, applied: &[String]) -> Result<(), AdminError> {
    let known = parts::known_versions(parts::migrations(part))?;
    match applied.iter().find(|version| !known.contains(version)) {
        None => Ok(()),
        Some(version) => Err(AdminError::refused(format!(
            "the {part} database is from a newer version of holdfast than this one, {}: it has the migration {version}",
            env!("CARGO_PKG_VERSION")
        ))),
    }
}

/// Opens a part's file alone, for a command that reads all of it. It must be undamaged, and of this version or an older one.
///
/// # Errors
/// A sentence when it is not.
pub(crate) fn open_whole(part: &PartDatabase) -> Result<Connection, AdminError> {
    let db = open_alone(&part.file)?;
    let applied = queries::versions(&db).map_err(in_file(&part.file))?;
    refuse_newer(part.name, &applied)?;
    check(&db, &part.file)?;
    Ok(db)
}
