use std::io::IsTerminal;
use std::time::{Duration, Instant};

use broker::{DeadLetter, DeadLetterCheckout};
use db_kit::{DbError, Pool, outbox};

use super::super::context::Failure;
use super::entry::{DeadLetterEntry, DeadLetterOrigin};

/// The most messages that are received at once. They are in memory with their bodies, and an invalid one may be large.
const WINDOW: u16 = 100;
/// The interval between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(2);

/// An iteration over the dead letters of one queue or outbox. It returns what was there at the start once, so that a
/// message that is replayed and dead-lettered again does not prolong it forever.
pub(super) struct DeadLetterCursor {
    source: CursorSource,
    total: u64,
    received: u64,
    progress_at: Instant,
}

pub(super) enum CursorSource {
    Queue(Box<DeadLetterCheckout>),
    Outbox {
        part: &'static str,
        pool: Pool,
        after: Option<String>,
    },
}

impl DeadLetterCursor {
    pub(super) fn new(source: CursorSource, total: u64) -> Self {
        Self {
            source,
            total,
            received: 0,
            progress_at: Instant::now(),
        }
    }

    /// Returns the next dead letters; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<DeadLetterEntry>>, Failure> {
        let left = self.total.saturating_sub(self.received);
        let limit = u16::try_from(left).unwrap_or(WINDOW).min(WINDOW);
        if limit == 0 {
            return Ok(None);
        }
        let entries: Vec<DeadLetterEntry> = match &mut self.source {
            CursorSource::Queue(checkout) => {
                let messages = checkout.next(limit).await?.into_iter();
                messages.map(DeadLetterEntry::from_queue).collect()
            }
            CursorSource::Outbox { part, pool, after } => {
                let after_id = after.clone();
                let rows = pool.read::<_, DbError, _>(move |db| {
                    Ok(outbox::list_unroutable(
                        db,
                        after_id.as_deref(),
                        limit.into(),
                    )?)
                });
                let rows = rows.await?;
                *after = rows.last().map(|row| row.id.clone());
                let entry = |row| DeadLetterEntry::from_outbox(part, row);
                rows.into_iter().map(entry).collect()
            }
        };
        self.received += u64::try_from(entries.len()).unwrap_or_default();
        self.print_progress();
        Ok((!entries.is_empty()).then_some(entries))
    }

    #[expect(clippy::print_stderr, reason = "progress, for the waiting operator")]
    fn print_progress(&mut self) {
        if self.progress_at.elapsed() >= PROGRESS && std::io::stderr().is_terminal() {
            eprintln!("{} of about {}", self.received, self.total);
            self.progress_at = Instant::now();
        }
    }

    /// Replays dead letters, and returns for each why it failed.
    pub(super) async fn replay(
        &self,
        entries: &[&DeadLetterEntry],
    ) -> Result<Vec<Result<(), String>>, Failure> {
        match &self.source {
            _ if entries.is_empty() => Ok(Vec::new()),
            CursorSource::Queue(checkout) => Ok(checkout.replay(&messages(entries)).await?),
            CursorSource::Outbox { pool, .. } => {
                let ids = ids(entries);
                pool.write_tx::<_, DbError, _>(move |db| Ok(outbox::retry_unroutable(db, &ids)?))
                    .await?;
                Ok(entries.iter().map(|_| Ok(())).collect())
            }
        }
    }

    /// Deletes dead letters.
    pub(super) async fn discard(&self, entries: &[&DeadLetterEntry]) -> Result<(), Failure> {
        match &self.source {
            _ if entries.is_empty() => {}
            CursorSource::Queue(checkout) => checkout.discard(&messages(entries)).await?,
            CursorSource::Outbox { pool, .. } => {
                let ids = ids(entries);
                pool.write_tx::<_, DbError, _>(move |db| Ok(outbox::drop_unroutable(db, &ids)?))
                    .await?;
            }
        }
        Ok(())
    }

    /// Releases the messages that are neither replayed nor deleted.
    pub(super) async fn end(self) -> Result<(), Failure> {
        match self.source {
            CursorSource::Queue(checkout) => Ok(checkout.return_rest().await?),
            CursorSource::Outbox { .. } => Ok(()),
        }
    }
}

fn messages<'a>(entries: &[&'a DeadLetterEntry]) -> Vec<&'a DeadLetter> {
    let messages = entries.iter().filter_map(|entry| match &entry.origin {
        DeadLetterOrigin::Queue(message) => Some(&**message),
        DeadLetterOrigin::Outbox(_) => None,
    });
    messages.collect()
}

fn ids(entries: &[&DeadLetterEntry]) -> Vec<String> {
    entries.iter().map(|entry| entry.id()).collect()
}
