use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use db_kit::outbox::{self, OutboxRow};
use db_kit::{Db, DbError, Pool};
use event_types::Exchange;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use uuid::Uuid;

use super::{Metrics, RelayOptions};
use crate::pause::Backoff;
use crate::{Message, PublishOutcome, Publisher};

/// How long leases continue after the last full batch before one starts at the beginning again. An earlier row, such
/// as one committed late, waits at most this long. In return, a lease does not scan past published rows each time.
const LOOK_BACK: Duration = Duration::from_secs(1);

/// The outbox as one relay sees it.
pub(super) struct Outbox {
    pool: Pool,
    pub(super) publisher: Publisher,
    pub(super) options: RelayOptions,
    metrics: Option<Metrics>,
    place: Mutex<LeaseCursor>,
}

/// Where the next lease begins.
struct LeaseCursor {
    /// The last row that a queue refused. The next lease begins after it, so that it does not block rows for other queues.
    refused: String,
    /// The last row of a full batch, after which there are probably more.
    passed: String,
    /// When a lease last started at the beginning.
    from_start: Instant,
}

impl LeaseCursor {
    /// Returns the id after which the next lease begins; empty for the beginning.
    fn after(&mut self) -> String {
        let refused = std::mem::take(&mut self.refused);
        let passed = std::mem::take(&mut self.passed);
        match self.from_start.elapsed() < LOOK_BACK {
            true => refused.max(passed),
            false => refused,
        }
    }
}

/// Rows that were leased together.
pub(super) struct LeasedBatch {
    /// The id of the lease.
    id: String,
    pub(super) rows: Vec<OutboxRow>,
    /// The ids of the rows that have a subscribed webhook.
    listened: HashSet<String>,
    /// Whether there are probably more rows.
    pub(super) more: bool,
}

/// The result of a batch.
pub(super) struct RelayedBatch {
    pub(super) some_confirmed: bool,
    /// Whether rows stay in the outbox to be published again.
    pub(super) some_kept: bool,
    /// Whether rows may have been committed meanwhile that the lease covered.
    pub(super) some_late: bool,
    pub(super) connected: bool,
}

#[derive(Default)]
struct PublishResults {
    batch_id: String,
    out: Vec<String>,
    aside: Vec<String>,
    kept: Vec<String>,
    connected: bool,
}

impl Outbox {
    pub(super) fn new(
        pool: Pool,
        publisher: Publisher,
        options: RelayOptions,
        metrics: Option<Metrics>,
    ) -> Self {
        Self {
            pool,
            publisher,
            options,
            metrics,
            place: Mutex::new(LeaseCursor {
                refused: String::new(),
                passed: String::new(),
                from_start: Instant::now(),
            }),
        }
    }

    /// Leases the rows that are due. Without a wake, it reads before it writes, so that an idle relay takes no write
    /// lock.
    pub(super) async fn lease(&self, woken: bool) -> Result<LeasedBatch, DbError> {
        let now = (self.options.now)();
        if !woken
            && !self
                .pool
                .read::<_, DbError, _>(move |db| Ok(outbox::is_any_due(db, now)?))
                .await?
        {
            return Ok(LeasedBatch {
                id: String::new(),
                rows: Vec::new(),
                listened: HashSet::new(),
                more: false,
            });
        }
        let id = Uuid::now_v7().to_string();
        let (batch_id, lease, limit) = (id.clone(), self.options.lease, self.options.batch);
        let after = self.place().after();
        let from_start = after.is_empty();
        let asked = self.options.listened.clone();
        let (rows, listened) = self
            .pool
            .write_tx::<_, DbError, _>(move |db| {
                let rows = outbox::lease(db, &batch_id, now, lease, limit, &after)?;
                // Asked after the lease: a webhook that was created before one of these rows was committed is visible here.
                let listened = match asked {
                    Some(asked) if !rows.is_empty() => asked(db, &rows)?,
                    _ => HashSet::new(),
                };
                Ok((rows, listened))
            })
            .await?;
        let full = i64::try_from(rows.len()).is_ok_and(|leased| leased >= limit);
        self.note(from_start, rows.last().filter(|_| full));
        // A lease that began further on is followed by one at the beginning, which includes the refused rows.
        let more = full || !from_start;
        if let Some(metrics) = &self.metrics {
            metrics
                .duplicates
                .inc_by(count(rows.iter().filter(|row| row.reclaimed)));
        }
        Ok(LeasedBatch {
            id,
            rows,
            listened,
            more,
        })
    }

    /// Publishes leased rows and stores the outcomes.
    pub(super) async fn publish(self: Arc<Self>, batch: LeasedBatch) -> RelayedBatch {
        // After the lease has expired, another relay may have the rows.
        let until = Instant::now() + self.options.lease;
        // The lease of a single row covers no other.
        let some_late = batch.rows.len() > 1;
        let (mut messages, mut aside) = (Vec::with_capacity(batch.rows.len()), Vec::new());
        for row in batch.rows {
            match message(&row, batch.listened.contains(&row.id)) {
                Some(message) => messages.push(message),
                None => {
                    log::error!(
                        "the outbox row {} of {} is not an event, marked unroutable",
                        row.id,
                        self.options.name
                    );
                    aside.push(row.id);
                }
            }
        }
        let ids: Vec<Uuid> = messages.iter().map(|message| message.id).collect();
        let keys: Vec<String> = messages
            .iter()
            .map(|message| message.routing_key.clone())
            .collect();
        let outcomes = self.publisher.publish_batch(messages).await;
        let mut sorted = PublishResults {
            batch_id: batch.id,
            aside,
            connected: true,
            ..PublishResults::default()
        };
        for ((id, key), outcome) in ids.into_iter().zip(keys).zip(outcomes) {
            self.sort(&mut sorted, id, &key, outcome);
        }
        let settled = RelayedBatch {
            some_confirmed: !sorted.out.is_empty(),
            some_kept: !sorted.kept.is_empty(),
            some_late,
            connected: sorted.connected,
        };
        if let Some(last) = sorted.kept.iter().max() {
            self.pass_by(last.clone());
        }
        self.write_down(Arc::new(sorted), until).await;
        settled
    }

    fn place(&self) -> MutexGuard<'_, LeaseCursor> {
        self.place.lock()
    }

    /// Lets the next lease begin after the last row of a full batch, or else at the beginning.
    fn note(&self, from_start: bool, last_of_full: Option<&OutboxRow>) {
        let mut place = self.place();
        if from_start {
            place.from_start = Instant::now();
        }
        place.passed = last_of_full.map(|row| row.id.clone()).unwrap_or_default();
    }

    /// Lets the next lease begin after this row, which a queue refused.
    fn pass_by(&self, id: String) {
        let mut place = self.place();
        if place.refused < id {
            place.refused = id;
        }
    }

    fn sort(&self, sorted: &mut PublishResults, id: Uuid, key: &str, outcome: PublishOutcome) {
        let metrics = self.metrics.as_ref();
        let (list, counter) = match &outcome {
            PublishOutcome::Confirmed => (&mut sorted.out, metrics.map(|it| &it.published)),
            PublishOutcome::Returned => {
                log::error!(
                    "no queue is bound to {key}: the event {id} stays in the outbox, marked unroutable"
                );
                (&mut sorted.aside, metrics.map(|it| &it.returned))
            }
            PublishOutcome::Parked(reason) => {
                log::error!(
                    "a consumer cannot read the event {id} ({key}), marked unroutable in the outbox: {reason}"
                );
                (&mut sorted.aside, metrics.map(|it| &it.returned))
            }
            PublishOutcome::Nacked => (&mut sorted.kept, metrics.map(|it| &it.nacked)),
            PublishOutcome::Unsent(_) => {
                sorted.connected = false;
                (&mut sorted.kept, None)
            }
            PublishOutcome::Unconfirmed(reason) => {
                log::debug!("no confirm for the event {id}, it will be published again: {reason}");
                if let Some(metrics) = metrics {
                    metrics.duplicates.inc();
                }
                (&mut sorted.kept, metrics.map(|it| &it.unconfirmed))
            }
        };
        list.push(id.to_string());
        if let Some(counter) = counter {
            counter.inc();
        }
    }

    /// Retries until the result is stored or the lease has expired. In the latter case, the rows are published again.
    async fn write_down(&self, sorted: Arc<PublishResults>, until: Instant) {
        let mut pause = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));
        loop {
            let rows = Arc::clone(&sorted);
            let written = self.pool.write_tx(move |db| write_down(db, &rows)).await;
            let Err(error) = written else { return };
            if Instant::now() >= until {
                log::error!(
                    "the relay {} cannot store what it published, duplicates will follow: {error}",
                    self.options.name
                );
                return;
            }
            pause.wait().await;
        }
    }

    pub(super) async fn observe(&self) {
        let Some(metrics) = &self.metrics else { return };
        match self
            .pool
            .read::<_, DbError, _>(|db| Ok(outbox::stats(db)?))
            .await
        {
            Ok(stats) => metrics.observe(&stats, (self.options.now)()),
            Err(error) => log::debug!(
                "the outbox of {} could not be counted: {error}",
                self.options.name
            ),
        }
    }
}

/// Deletes and marks rows in one transaction. The end of the lease frees the others.
fn write_down(db: &mut Db, sorted: &PublishResults) -> Result<(), DbError> {
    outbox::delete(db, &sorted.out)?;
    if !sorted.aside.is_empty() {
        outbox::mark_unroutable(db, &sorted.aside)?;
    }
    outbox::end_lease(db, &sorted.batch_id)?;
    Ok(())
}

fn message(row: &OutboxRow, listened: bool) -> Option<Message> {
    Some(Message {
        exchange: Exchange::from_name(&row.exchange)?,
        routing_key: row.routing_key.clone(),
        id: row.id.parse().ok()?,
        body: row.body.as_bytes().into(),
        listened,
    })
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn place(refused: &str, passed: &str, from_start: Instant) -> LeaseCursor {
        LeaseCursor {
            refused: refused.to_owned(),
            passed: passed.to_owned(),
            from_start,
        }
    }

    #[test]
    fn the_next_lease_begins_after_the_last_one_and_at_the_start_once_a_second() {
        let now = Instant::now();
        for (refused, passed, after) in [
            ("", "", ""),
            ("", "b", "b"),
            ("c", "b", "c"),
            ("a", "b", "b"),
        ] {
            let mut place = place(refused, passed, now);
            assert_eq!(place.after(), after);
            // Each position is used for one lease.
            assert_eq!(place.after(), "");
        }
        let a_second_ago = now.checked_sub(LOOK_BACK).unwrap();
        for (refused, passed, after) in [("", "b", ""), ("a", "b", "a")] {
            assert_eq!(place(refused, passed, a_second_ago).after(), after);
        }
    }
}
