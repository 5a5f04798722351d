use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use db_kit::outbox::{self, OutboxRow};
use db_kit::{Db, DbError, Pool};
use event_types::Exchange;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::{Completion, Metrics, RelayOptions};
use crate::backoff::Backoff;
use crate::{Message, PublishOutcome, Publisher};

/// How long leases continue after the last full batch before one starts at the beginning again. An earlier row, such
/// as one committed late, waits at most this long. In return, a lease does not scan past published rows each time.
const RESTART_EVERY: Duration = Duration::from_secs(1);

/// The part of a lease, as a divisor, in which rows are completed. Enough of it is left to publish them and to store the result.
const COMPLETION_SHARE: u32 = 3;

/// The outbox as one relay sees it.
pub(super) struct Outbox {
    pool: Pool,
    pub(super) publisher: Publisher,
    pub(super) options: RelayOptions,
    metrics: Option<Metrics>,
    cursor: Mutex<LeaseCursor>,
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
        match self.from_start.elapsed() < RESTART_EVERY {
            true => refused.max(passed),
            false => refused,
        }
    }
}

/// Rows that were leased together.
#[derive(Default)]
pub(super) struct LeasedBatch {
    /// The id of the lease.
    id: String,
    pub(super) rows: Vec<OutboxRow>,
    /// The ids of the rows that have a subscribed webhook.
    subscribed: HashSet<String>,
    /// Whether there are probably more rows.
    pub(super) more: bool,
}

/// The result of a batch.
pub(super) struct RelayedBatch {
    pub(super) some_confirmed: bool,
    /// Whether rows stay in the outbox to be published again.
    pub(super) some_retained: bool,
    /// Whether rows may have been committed meanwhile that the lease covered.
    pub(super) some_late: bool,
    pub(super) connected: bool,
}

#[derive(Default)]
struct PublishResults {
    batch_id: String,
    confirmed: Vec<String>,
    unroutable: Vec<String>,
    retained: Vec<String>,
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
            cursor: Mutex::new(LeaseCursor {
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
            return Ok(LeasedBatch::default());
        }
        let id = Uuid::now_v7().to_string();
        let (batch_id, lease, limit) = (id.clone(), self.options.lease, self.options.batch);
        let after = self.cursor().after();
        let from_start = after.is_empty();
        let bcc_filter = self.options.bcc_filter.clone();
        let (rows, subscribed) = self
            .pool
            .write_tx::<_, DbError, _>(move |db| {
                let rows = outbox::lease(db, &batch_id, now, lease, limit, &after)?;
                // Called after the lease: a webhook that was created before one of these rows was committed is visible here.
                let subscribed = match bcc_filter {
                    Some(bcc_filter) if !rows.is_empty() => bcc_filter(db, &rows)?,
                    _ => HashSet::new(),
                };
                Ok((rows, subscribed))
            })
            .await?;
        let full = i64::try_from(rows.len()).is_ok_and(|leased| leased >= limit);
        self.set_passed(from_start, rows.last().filter(|_| full));
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
            subscribed,
            more,
        })
    }

    /// Publishes leased rows and stores the outcomes.
    pub(super) async fn publish(self: Arc<Self>, batch: LeasedBatch) -> RelayedBatch {
        // After the lease has expired, another relay may have the rows.
        let lease_end = Instant::now() + self.options.lease;
        // The lease of a single row covers no other.
        let some_late = batch.rows.len() > 1;
        let (mut messages, mut unroutable) = (Vec::with_capacity(batch.rows.len()), Vec::new());
        let mut retained = Vec::new();
        let complete_until = Instant::now() + self.options.lease / COMPLETION_SHARE;
        for row in batch.rows {
            let id = row.id.clone();
            let row = match self.complete(row, complete_until).await {
                // The end of the lease frees it for the next one.
                None => continue,
                Some(Completion::Done(row)) => row,
                Some(Completion::Later(reason)) => {
                    log::warn!("the event {id} waits in the outbox: {reason}");
                    retained.push(id);
                    continue;
                }
                Some(Completion::Never(reason)) => {
                    log::error!("the event {id} cannot be published, marked unroutable: {reason}");
                    unroutable.push(id);
                    continue;
                }
            };
            match message(&row, batch.subscribed.contains(&row.id)) {
                Some(message) => messages.push(message),
                None => {
                    log::error!(
                        "the outbox row {} of {} is not an event, marked unroutable",
                        row.id,
                        self.options.name
                    );
                    unroutable.push(row.id);
                }
            }
        }
        let ids: Vec<Uuid> = messages.iter().map(|message| message.id).collect();
        let keys: Vec<String> = messages
            .iter()
            .map(|message| message.routing_key.clone())
            .collect();
        let outcomes = self.publisher.publish_batch(messages).await;
        let mut results = PublishResults {
            batch_id: batch.id,
            unroutable,
            retained,
            connected: true,
            ..PublishResults::default()
        };
        for ((id, key), outcome) in ids.into_iter().zip(keys).zip(outcomes) {
            self.add(&mut results, id, &key, outcome);
        }
        let relayed = RelayedBatch {
            some_confirmed: !results.confirmed.is_empty(),
            some_retained: !results.retained.is_empty(),
            some_late,
            connected: results.connected,
        };
        if let Some(last) = results.retained.iter().max() {
            self.set_refused(last.clone());
        }
        self.store_results(Arc::new(results), lease_end).await;
        relayed
    }

    /// Completes a row. Returns `None` if that is not done by `until`.
    async fn complete(&self, row: OutboxRow, until: Instant) -> Option<Completion> {
        match &self.options.completion {
            Some(completion) if row.routing_key == completion.routing_key => {
                // Nothing starts after `until`, because work on another thread cannot be stopped.
                if Instant::now() >= until {
                    return None;
                }
                timeout_at(until, (completion.complete)(row)).await.ok()
            }
            _ => Some(Completion::Done(row)),
        }
    }

    fn cursor(&self) -> MutexGuard<'_, LeaseCursor> {
        self.cursor.lock()
    }

    /// Lets the next lease begin after the last row of a full batch, or else at the beginning.
    fn set_passed(&self, from_start: bool, last_of_full: Option<&OutboxRow>) {
        let mut cursor = self.cursor();
        if from_start {
            cursor.from_start = Instant::now();
        }
        cursor.passed = last_of_full.map(|row| row.id.clone()).unwrap_or_default();
    }

    /// Lets the next lease begin after this row, which a queue refused.
    fn set_refused(&self, id: String) {
        let mut cursor = self.cursor();
        if cursor.refused < id {
            cursor.refused = id;
        }
    }

    fn add(&self, results: &mut PublishResults, id: Uuid, key: &str, outcome: PublishOutcome) {
        let metrics = self.metrics.as_ref();
        let (list, counter) = match &outcome {
            PublishOutcome::Confirmed => (&mut results.confirmed, metrics.map(|it| &it.published)),
            PublishOutcome::Returned => {
                log::error!(
                    "no queue is bound to {key}: the event {id} stays in the outbox, marked unroutable"
                );
                (&mut results.unroutable, metrics.map(|it| &it.returned))
            }
            PublishOutcome::Unreadable(reason) => {
                log::error!(
                    "a consumer cannot read the event {id} ({key}), marked unroutable in the outbox: {reason}"
                );
                (&mut results.unroutable, metrics.map(|it| &it.returned))
            }
            PublishOutcome::Nacked => (&mut results.retained, metrics.map(|it| &it.nacked)),
            PublishOutcome::Unsent(_) => {
                results.connected = false;
                (&mut results.retained, None)
            }
            PublishOutcome::Unconfirmed(reason) => {
                log::debug!("no confirm for the event {id}, it will be published again: {reason}");
                if let Some(metrics) = metrics {
                    metrics.duplicates.inc();
                }
                (&mut results.retained, metrics.map(|it| &it.unconfirmed))
            }
        };
        list.push(id.to_string());
        if let Some(counter) = counter {
            counter.inc();
        }
    }

    /// Retries until the result is stored or the lease has expired. In the latter case, the rows are published again.
    async fn store_results(&self, results: Arc<PublishResults>, lease_end: Instant) {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));
        loop {
            let rows = Arc::clone(&results);
            let stored = self.pool.write_tx(move |db| store_results(db, &rows)).await;
            let Err(error) = stored else { return };
            if Instant::now() >= lease_end {
                log::error!(
                    "the relay {} cannot store what it published, duplicates will follow: {error}",
                    self.options.name
                );
                return;
            }
            backoff.wait().await;
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
fn store_results(db: &mut Db, results: &PublishResults) -> Result<(), DbError> {
    outbox::delete(db, &results.confirmed)?;
    if !results.unroutable.is_empty() {
        outbox::mark_unroutable(db, &results.unroutable)?;
    }
    outbox::end_lease(db, &results.batch_id)?;
    Ok(())
}

fn message(row: &OutboxRow, has_subscriber: bool) -> Option<Message> {
    Some(Message {
        exchange: Exchange::from_name(&row.exchange)?,
        routing_key: row.routing_key.clone(),
        id: row.id.parse().ok()?,
        body: row.body.as_bytes().into(),
        has_subscriber,
    })
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn cursor(refused: &str, passed: &str, from_start: Instant) -> LeaseCursor {
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
            let mut cursor = cursor(refused, passed, now);
            assert_eq!(cursor.after(), after);
            // Each position is used for one lease.
            assert_eq!(cursor.after(), "");
        }
        let a_second_ago = now.checked_sub(RESTART_EVERY).unwrap();
        for (refused, passed, after) in [("", "b", ""), ("a", "b", "a")] {
            assert_eq!(cursor(refused, passed, a_second_ago).after(), after);
        }
    }
}
