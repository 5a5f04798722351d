//! SQLite's log and its flush, which is done apart from the commit: the next commit's statements run meanwhile.
//!
//! A commit appends to the log (`-wal`). With `synchronous = NORMAL` SQLite flushes it only before it moves pages into the
//! database's file (<https://sqlite.org/pragma.html#pragma_synchronous>). Here nobody hears of a write before the log is
//! flushed up to it, neither who wrote nor who read it: what was answered is on the disk, as with `FULL`.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::DbError;

/// The log, held open beside the connection that writes to it: while a connection is open SQLite does not delete it, and
/// before it does, everything in it is in the database's file and flushed.
pub(crate) struct Log {
    file: File,
    inode: u64,
    disk: Arc<Disk>,
}

/// What the connections of a pool know of the disk that their database lies on.
#[derive(Default)]
pub(crate) struct Disk {
    /// Commits that were begun: others may see them.
    begun: AtomicU64,
    /// Commits that are over, whatever they came to.
    over: AtomicU64,
    /// Of those that are over, how many are flushed.
    flushed: AtomicU64,
    /// Which file the log is now; another one was deleted, when everything in it was in the database's file.
    inode: AtomicU64,
    /// One flush at a time: of two at once the system would tell only one that it failed.
    turn: Mutex<()>,
    /// A flush failed. The system tells so once and may have dropped what it could not write: that a later flush succeeds
    /// says nothing of what came before (<https://wiki.postgresql.org/wiki/Fsync_Errors>).
    refused: AtomicBool,
    /// What an earlier process left in the log is in the database's file.
    pub(crate) cleared: AtomicBool,
}

/// A commit that is being done.
pub(crate) struct Commit<'a>(&'a Disk);

impl Log {
    /// The log of the database `path`, if it has one.
    pub(crate) fn of(path: &Path, disk: &Arc<Disk>) -> std::io::Result<Option<Self>> {
        // As SQLite names it, which follows links.
        let mut name = path.canonicalize()?.into_os_string();
        name.push("-wal");
        match File::open(Path::new(&name)) {
            Ok(file) => Self::new(file, disk).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn new(file: File, disk: &Arc<Disk>) -> std::io::Result<Self> {
        let inode = file.metadata()?.ino();
        disk.inode.store(inode, Ordering::SeqCst);
        Ok(Self {
            file,
            inode,
            disk: Arc::clone(disk),
        })
    }

    /// A commit, until this is dropped.
    pub(crate) fn commit(&self) -> Commit<'_> {
        self.disk.begun.fetch_add(1, Ordering::SeqCst);
        Commit(&self.disk)
    }

    /// Waits until everything is on the disk that was committed before, or that somebody has seen of a commit that is
    /// being done. Costs nothing when nothing was committed since the last flush.
    ///
    /// # Errors
    /// [`DbError::Unreachable`] when the disk refuses, or has done so before.
    pub(crate) fn flush(&self) -> Result<(), DbError> {
        let disk = &self.disk;
        let wanted = disk.begun.load(Ordering::SeqCst);
        if disk.flushed.load(Ordering::SeqCst) >= wanted {
            return self.check();
        }
        let _turn = disk.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        if disk.flushed.load(Ordering::SeqCst) >= wanted {
            return Ok(());
        }
        // Not those that are being done: their part of the log may not be written yet.
        let over = disk.over.load(Ordering::SeqCst);
        if self.inode != disk.inode.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.file.sync_data().map_err(|error| {
            disk.refused.store(true, Ordering::SeqCst);
            log::error!(
                "the disk refused a flush of the database's log ({error}); nothing is written any more until the disk is \
                 mended and this process started again"
            );
            lost()
        })?;
        disk.flushed.store(over, Ordering::SeqCst);
        Ok(())
    }

    /// # Errors
    /// [`DbError::Unreachable`] once the disk refused.
    pub(crate) fn check(&self) -> Result<(), DbError> {
        match self.disk.refused.load(Ordering::SeqCst) {
            true => Err(lost()),
            false => Ok(()),
        }
    }
}

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        self.0.over.fetch_add(1, Ordering::SeqCst);
    }
}

fn lost() -> DbError {
    DbError::Unreachable("the disk refused what was written".to_owned())
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::mpsc;
    use std::time::Duration;

    use diesel::connection::SimpleConnection;
    use diesel::prelude::*;
    use diesel::r2d2;

    use super::*;
    use crate::connection::Manager;
    use crate::group::Writer;
    use crate::transaction::{Kind, alone};
    use crate::{Db, Pool, PoolOptions};

    type Work = Box<dyn FnOnce(&mut Db) -> Result<(), DbError> + Send>;

    const LONG: Duration = Duration::from_secs(20);

    /// A log that cannot be flushed.
    pub(crate) fn refusing(disk: &Arc<Disk>) -> Arc<Log> {
        // The system flushes no device that keeps nothing: EINVAL.
        Arc::new(Log::new(File::open("/dev/null").unwrap(), disk).unwrap())
    }

    pub(crate) fn write(db: &mut Db) -> Result<(), DbError> {
        Ok(db.batch_execute("INSERT INTO kept VALUES (1)")?)
    }

    pub(crate) fn kept(db: &mut Db) -> i64 {
        let Db::Sqlite(conn) = db else { return 0 };
        diesel::dsl::sql::<diesel::sql_types::BigInt>("SELECT count(*) FROM kept")
            .get_result(conn)
            .unwrap()
    }

    /// Connections to a database with one table.
    pub(crate) fn pool(folder: &Path, size: u32) -> r2d2::Pool<Manager> {
        let url = format!("sqlite://{}", folder.join("kept.db").display());
        let pool = r2d2::Pool::builder()
            .max_size(size)
            .build_unchecked(Manager::new(url.parse().unwrap()));
        let mut managed = pool.get().unwrap();
        managed.db.batch_execute("CREATE TABLE kept (n)").unwrap();
        drop(managed);
        pool
    }

    #[test]
    fn a_flush_is_asked_for_once_something_was_committed_or_is_being() {
        let disk = Arc::default();
        let log = refusing(&disk);
        log.flush().unwrap();
        let commit = log.commit();
        log.flush().unwrap_err();
        drop(commit);
        log.check().unwrap_err();

        let file = tempfile::tempfile().unwrap();
        let log = Log::new(file, &Arc::default()).unwrap();
        let commit = log.commit();
        // Whoever sees something of it waits; it is not flushed by that.
        log.flush().unwrap();
        assert_eq!(log.disk.flushed.load(Ordering::SeqCst), 0);
        drop(commit);
        log.flush().unwrap();
        assert_eq!(log.disk.flushed.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn flushing_a_log_that_was_deleted_says_nothing_of_the_one_after_it() {
        let disk: Arc<Disk> = Arc::default();
        let log = || Log::new(tempfile::tempfile().unwrap(), &disk).unwrap();
        let before = log();
        let after = log();
        drop(after.commit());
        before.flush().unwrap();
        assert_eq!(disk.flushed.load(Ordering::SeqCst), 0);
        after.flush().unwrap();
        assert_eq!(disk.flushed.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_the_disk_refused_is_lost_and_nothing_is_written_after_it() {
        for kind in [Kind::Statement, Kind::Transaction] {
            let folder = tempfile::tempdir().unwrap();
            let pool = pool(folder.path(), 1);
            let managed = &mut *pool.get().unwrap();
            alone(managed, kind, write).unwrap();
            let disk = Arc::default();
            let sound = managed.log.replace(refusing(&disk)).unwrap();
            let refused = alone(managed, kind, write).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "the database does not answer: the disk refused what was written"
            );
            // Not even where a flush would succeed now: the one that failed has told the system's only word of it.
            let file = sound.file.try_clone().unwrap();
            managed.log = Some(Arc::new(Log::new(file, &disk).unwrap()));
            let before = kept(&mut managed.db);
            alone(managed, kind, write).unwrap_err();
            assert_eq!(kept(&mut managed.db), before);
        }
    }

    /// What so many writes that share commits are told whose log refuses.
    async fn of_others(others: usize) -> Vec<Result<(), DbError>> {
        let folder = tempfile::tempdir().unwrap();
        let pool = pool(folder.path(), 1);
        let (writer, disk) = (Writer::new(), Arc::default());
        let send = |refuses: bool, work: Work| {
            let (pool, log) = (pool.clone(), refuses.then(|| refusing(&disk)));
            let checkout = move || {
                let mut managed = pool.get().unwrap();
                managed.log = log.or(managed.log.take());
                Ok(managed)
            };
            writer.send::<(), DbError, _>(Kind::Transaction, checkout, work)
        };
        let (let_go, gate) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let hold = move |db: &mut Db| {
            begun.send(()).unwrap();
            let _ = gate.recv();
            write(db)
        };
        let first = send(false, Box::new(hold));
        begins.recv().unwrap();
        let others: Vec<_> = (0..others).map(|_| send(true, Box::new(write))).collect();
        drop(let_go);
        first.outcome(LONG, LONG).await.unwrap().unwrap().0.unwrap();
        let mut told = Vec::new();
        for other in others {
            told.push(other.outcome(LONG, LONG).await.unwrap().unwrap().0);
        }
        assert_eq!(writer.busy(), 0);
        told
    }

    #[tokio::test]
    async fn writes_that_share_a_commit_are_told_of_after_its_flush_whoever_waits_behind_them() {
        // One commit behind which nobody waits, and more than one takes.
        for others in [3, 130] {
            for told in of_others(others).await {
                assert!(matches!(told, Err(DbError::Unreachable(_))), "{told:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_pool_flushes_apart_and_who_asks_for_a_connection_of_his_own_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("kept.db").display());
        let pool = Pool::open(PoolOptions::new(url.parse().unwrap(), 2));
        let synchronous = |db: &mut Db| -> Result<i32, DbError> {
            let Db::Sqlite(conn) = db else {
                return Err(DbError::Busy);
            };
            let asked = diesel::dsl::sql::<diesel::sql_types::Integer>("PRAGMA synchronous");
            Ok(asked.get_result(conn)?)
        };
        assert_eq!(pool.read(synchronous).await.unwrap(), 1);
        assert_eq!(synchronous(&mut pool.dedicated().unwrap()).unwrap(), 2);
        pool.ping().await.unwrap();
    }
}
