use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use db_kit::{Db, DbError, Pool};

use super::ChangeSubject;
use super::cache::IdentityCache;
use super::liveness::ClockReading;
use super::queries::{self, MAX_ROWS, Position, Row};

/// The interval between two polls of the connection.
const EVERY: Duration = Duration::from_millis(200);
/// The maximum interval between two reads of the table. A notification may be lost, but a row may not.
const AT_LEAST_EVERY: Duration = Duration::from_millis(300);
/// The pause after which rows may have been deleted unread.
const TOO_LONG: Duration = Duration::from_secs(60);

/// The thread that reads the feed. Stopping or dropping this ends the thread, because at process exit the libraries
/// that its connection uses are unloaded.
#[derive(Debug)]
pub(crate) struct FeedWatcher {
    stop: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl FeedWatcher {
    /// Starts the thread, which has its own connection and never writes.
    pub(crate) fn spawn(pool: Pool, cache: Arc<IdentityCache>) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("identity feed".to_owned())
            .spawn(move || {
                run(&cache, &stopped, |down| {
                    follow(&pool, &cache, &stopped, down)
                });
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Stops the thread and waits for its end.
    pub(crate) async fn stop(self) {
        // Dropping blocks until the thread has ended.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl Drop for FeedWatcher {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for the next poll. Returns true if the thread has to stop.
fn is_stopped(stopped: &mpsc::Receiver<()>) -> bool {
    !matches!(stopped.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout))
}

/// Follows the feed until it is stopped, and starts again after each failure or panic. In between nothing is cached.
fn run(
    cache: &IdentityCache,
    stopped: &mpsc::Receiver<()>,
    mut follow: impl FnMut(&mut bool) -> Result<(), DbError>,
) {
    let mut down = false;
    loop {
        // Nothing survives a panic: neither the connection nor the cache.
        let ended = catch_unwind(AssertUnwindSafe(|| follow(&mut down)));
        cache.feed_went_down();
        let why = match ended {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the thread panicked".to_owned(),
        };
        // Logged once per outage.
        if !std::mem::replace(&mut down, true) {
            log::warn!("the change feed is down, every validation reads the database: {why}");
        }
        if is_stopped(stopped) {
            return;
        }
    }
}

/// Follows the feed over one connection until that fails or the thread has to stop.
fn follow(
    pool: &Pool,
    cache: &IdentityCache,
    stopped: &mpsc::Receiver<()>,
    down: &mut bool,
) -> Result<(), DbError> {
    let mut reader = FeedReader::open(pool)?;
    // Everything cached during the last connection may have changed since.
    cache.forget_all();
    loop {
        reader.read_changes(cache)?;
        if std::mem::take(down) {
            log::info!("the change feed is up again");
        }
        if is_stopped(stopped) {
            return Ok(());
        }
    }
}

/// A connection, with the state of reading over it.
struct FeedReader {
    db: Db,
    data_version: i64,
    position: Position,
    /// The ids of the last read's rows, which the next read may return again.
    known: HashSet<i64>,
    read_at: Option<Instant>,
}

impl FeedReader {
    fn open(pool: &Pool) -> Result<Self, DbError> {
        let mut db = pool.dedicated()?;
        queries::listen(&mut db)?;
        let position = queries::position(&mut db)?;
        Ok(Self {
            db,
            data_version: 0,
            position,
            known: HashSet::new(),
            read_at: None,
        })
    }

    /// Polls once: reads the table if something was committed, or if the maximum interval has passed.
    fn read_changes(&mut self, cache: &IdentityCache) -> Result<(), DbError> {
        let started = ClockReading::now();
        let pause = self.read_at.map(|at| started.monotonic - at);
        let called = queries::has_changes(&mut self.db, &mut self.data_version)?;
        if !called && pause.is_some_and(|pause| pause < AT_LEAST_EVERY) {
            return Ok(());
        }
        // Taken before the read: what is committed in between is read twice rather than never.
        let position = queries::position(&mut self.db)?;
        let rows = queries::since(&mut self.db, self.position)?;
        if rows.len() >= MAX_ROWS || pause.is_some_and(|pause| pause > TOO_LONG) {
            cache.forget_all();
        }
        cache.remove(&self.find_new(rows));
        self.position = position;
        self.read_at = Some(started.monotonic);
        cache.caught_up_at(started);
        Ok(())
    }

    fn find_new(&mut self, rows: Vec<Row>) -> Vec<ChangeSubject> {
        let ids = rows.iter().map(|(id, _, _)| *id).collect();
        let news = rows
            .into_iter()
            .filter(|(id, _, _)| !self.known.contains(id))
            .filter_map(|(_, kind, name)| ChangeSubject::read(&kind, name))
            .collect();
        self.known = ids;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_counts_as_an_outage_after_which_the_feed_is_read_again() {
        let cache = IdentityCache::new(true);
        let (stop, stopped) = mpsc::channel();
        let mut rounds = 0;
        run(&cache, &stopped, |down| {
            rounds += 1;
            assert!(cache.ticket().is_none(), "nothing is asked in between");
            assert_eq!(*down, rounds > 1);
            cache.caught_up_at(ClockReading::now());
            assert!(cache.ticket().is_some());
            match rounds {
                1 => panic!("the first round fails as nobody foresaw"),
                2 => Err(DbError::Busy),
                _ => {
                    let _ = stop.send(());
                    Ok(())
                }
            }
        });
        assert_eq!(rounds, 3);
        assert!(cache.ticket().is_none());
    }
}
