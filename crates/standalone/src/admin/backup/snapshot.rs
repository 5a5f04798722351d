//! Snapshots of the three databases at one instant.
//!
//! An event is deleted from its sender's outbox once its receiver has it. Copies of two databases, taken one after the other,
//! could lack it in both, or contain it twice. The write locks of all three are therefore held while a read snapshot is opened on
//! each. Everything else is read from the snapshots, while others write.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::admin::database::{self, queries};
use crate::admin::error::{AdminError, in_file};
use crate::admin::files::make_file;
use crate::admin::parts::PartDatabase;

/// How long the locks that are held wait for the last one; writers give up after five seconds.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long the locks are released before the next try.
const PAUSE: Duration = Duration::from_millis(100);
/// How long to try altogether.
const GIVE_UP: Duration = Duration::from_secs(60);
/// How long a reader waits for a server that is just opening the file.
const READER_PATIENCE: Duration = Duration::from_secs(10);
/// Pages that are copied in one step.
const PAGES: std::ffi::c_int = 1024;

/// Opens a snapshot on each database, all of one instant.
///
/// # Errors
/// A sentence when the locks cannot be obtained.
pub(super) fn of_one_instant(parts: &[PartDatabase; 3]) -> Result<[Connection; 3], AdminError> {
    let deadline = Instant::now() + GIVE_UP;
    let [first, second, third] = parts;
    loop {
        let readers = [reader(first)?, reader(second)?, reader(third)?];
        let writers = [writer(first)?, writer(second)?, writer(third)?];
        let began = Instant::now();
        if lock_all(parts, &writers)? {
            for (part, reader) in parts.iter().zip(&readers) {
                queries::begin_snapshot(reader).map_err(in_file(&part.file))?;
            }
            // Closing the connections releases the locks.
            drop(writers);
            log::debug!("writers waited for {:?}", began.elapsed());
            return Ok(readers);
        }
        if Instant::now() > deadline {
            return Err(AdminError::refused(
                "the databases are written continuously; try again",
            ));
        }
        drop(writers);
        sleep(PAUSE);
    }
}

/// Copies a snapshot into a new file, for its owner only. Nobody has to wait for it.
///
/// # Errors
/// [`AdminError::Sqlite`] or [`AdminError::File`].
pub(super) fn copy(snapshot: &Connection, to: &Path) -> Result<(), AdminError> {
    drop(make_file(to)?);
    let mut target = database::open(to, Duration::ZERO)?;
    queries::sync_later(&target).map_err(in_file(to))?;
    {
        let backup = Backup::new(snapshot, &mut target).map_err(in_file(to))?;
        loop {
            match backup.step(PAGES).map_err(in_file(to))? {
                StepResult::Done => break,
                StepResult::More => {}
                _ => sleep(Duration::from_millis(10)),
            }
        }
    }
    queries::into_one_file(&target).map_err(in_file(to))?;
    target
        .close()
        .map_err(|(_, cause)| AdminError::Sqlite(to.to_owned(), cause))
}

fn reader(part: &PartDatabase) -> Result<Connection, AdminError> {
    database::open(&part.file, READER_PATIENCE)
}

fn writer(part: &PartDatabase) -> Result<Connection, AdminError> {
    database::open(&part.file, PATIENCE)
}

/// Takes all write locks. Returns false if one is busy; those that were taken remain held.
fn lock_all(parts: &[PartDatabase; 3], writers: &[Connection; 3]) -> Result<bool, AdminError> {
    for (part, writer) in parts.iter().zip(writers) {
        match queries::begin_write(writer) {
            Ok(()) => {}
            Err(cause) if database::is_busy(&cause) => return Ok(false),
            Err(cause) => return Err(in_file(&part.file)(cause)),
        }
    }
    Ok(true)
}
