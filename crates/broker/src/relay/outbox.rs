use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use db_kit::outbox::{self, OutboxRow};
use db_kit::{Db, DbError, Pool};
use event_types::Exchange;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Metrics, RelayOptions};
use crate::pause::Pause;
use crate::{Message, Outcome, Publisher};

/// One relay's view of its outbox.
pub(super) struct Outbox {
    pool: Pool,
    pub(super) publisher: Publisher,
    pub(super) options: RelayOptions,
    metrics: Option<Metrics>,
    /// Who holds the leases: this relay, in this run of its process.
    owner: String,
    /// The last row that a queue refused: it is free again at once, and older than all that other queues wait for.
    refused: Mutex<String>,
}

/// Rows that were leased together.
pub(super) struct Batch {
    pub(super) rows: Vec<OutboxRow>,
    /// There is probably more.
    pub(super) more: bool,
}

/// What became of a batch.
pub(super) struct Settled {
    pub(super) some_confirmed: bool,
    /// Rows stay in the outbox to be tried again.
    pub(super) some_kept: bool,
    pub(super) connected: bool,
}

#[derive(Default)]
struct Sorted {
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
        let owner = Uuid::now_v7().to_string();
        Self {
            pool,
            publisher,
            options,
            metrics,
            owner,
            refused: Mutex::default(),
        }
    }

    /// Leases what is due. Unless somebody said that there is something, it looks before it writes: an
    /// idle relay takes no write lock.
    pub(super) async fn lease(&self, woken: bool) -> Result<Batch, DbError> {
        let now = (self.options.now)();
        if !woken
            && !self
                .pool
                .read::<_, DbError, _>(move |db| Ok(outbox::is_any_due(db, now)?))
                .await?
        {
            return Ok(Batch {
                rows: Vec::new(),
                more: false,
            });
        }
        let (owner, lease, limit) = (self.owner.clone(), self.options.lease, self.options.batch);
        let after = std::mem::take(&mut *self.refused());
        let from_start = after.is_empty();
        let rows: Vec<OutboxRow> = self
            .pool
            .write_one::<_, DbError, _>(move |db| {
                Ok(outbox::lease(db, &owner, now, lease, limit, &after)?)
            })
            .await?;
        let full = i64::try_from(rows.len()).is_ok_and(|leased| leased >= limit);
        // Every other time it begins at the start, with what was refused.
        let more = full || !from_start;
        if let Some(metrics) = &self.metrics {
            metrics
                .duplicates
                .inc_by(count(rows.iter().filter(|row| row.reclaimed)));
        }
        Ok(Batch { rows, more })
    }

    /// Publishes leased rows and writes down what became of them.
    pub(super) async fn publish(self: Arc<Self>, rows: Vec<OutboxRow>) -> Settled {
        // What outlives its lease belongs to whoever takes it next.
        let until = Instant::now() + self.options.lease;
        let (messages, mut aside): (Vec<_>, Vec<_>) = (Vec::with_capacity(rows.len()), Vec::new());
        let mut messages = messages;
        for row in rows {
            match message(&row) {
                Some(message) => messages.push(message),
                None => {
                    log::error!(
                        "the outbox row {} of {} is no event; set aside",
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
        let mut sorted = Sorted {
            aside,
            connected: true,
            ..Sorted::default()
        };
        for ((id, key), outcome) in ids.into_iter().zip(keys).zip(outcomes) {
            self.sort(&mut sorted, id, &key, outcome);
        }
        let settled = Settled {
            some_confirmed: !sorted.out.is_empty(),
            some_kept: !sorted.kept.is_empty(),
            connected: sorted.connected,
        };
        if let Some(last) = sorted.kept.iter().max() {
            self.pass_by(last.clone());
        }
        self.write_down(Arc::new(sorted), until).await;
        settled
    }

    fn refused(&self) -> MutexGuard<'_, String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has what lies behind this row leased before it.
    fn pass_by(&self, id: String) {
        let mut refused = self.refused();
        if *refused < id {
            *refused = id;
        }
    }

    fn sort(&self, sorted: &mut Sorted, id: Uuid, key: &str, outcome: Outcome) {
        let (list, counter) = match &outcome {
            Outcome::Confirmed => (
                &mut sorted.out,
                self.metrics.as_ref().map(|metrics| &metrics.published),
            ),
            Outcome::Returned => {
                log::error!(
                    "no queue is bound to {key}: the event {id} is set aside in the outbox"
                );
                (
                    &mut sorted.aside,
                    self.metrics.as_ref().map(|metrics| &metrics.returned),
                )
            }
            Outcome::Parked(reason) => {
                log::error!(
                    "a consumer cannot read the event {id} ({key}), set aside in the outbox: {reason}"
                );
                (
                    &mut sorted.aside,
                    self.metrics.as_ref().map(|metrics| &metrics.returned),
                )
            }
            Outcome::Nacked => (
                &mut sorted.kept,
                self.metrics.as_ref().map(|metrics| &metrics.nacked),
            ),
            Outcome::Unsent(_) => {
                sorted.connected = false;
                (&mut sorted.kept, None)
            }
            Outcome::Unconfirmed(reason) => {
                log::debug!("no confirm for the event {id}, it is published again: {reason}");
                if let Some(metrics) = &self.metrics {
                    metrics.duplicates.inc();
                }
                (
                    &mut sorted.kept,
                    self.metrics.as_ref().map(|metrics| &metrics.unconfirmed),
                )
            }
        };
        list.push(id.to_string());
        if let Some(counter) = counter {
            counter.inc();
        }
    }

    /// Tries until it is written or the lease is over; after that the rows are leased and published again.
    async fn write_down(&self, sorted: Arc<Sorted>, until: Instant) {
        let mut pause = Pause::new(Duration::from_millis(50), Duration::from_secs(2));
        loop {
            let (rows, owner, now) = (
                Arc::clone(&sorted),
                self.owner.clone(),
                (self.options.now)(),
            );
            let work = move |db: &mut Db| write_down(db, &owner, &rows, now);
            // Nearly always all of them are out, which is one statement and needs no transaction around it.
            let written = if sorted.aside.is_empty() && sorted.kept.is_empty() {
                self.pool.write_one(work).await
            } else {
                self.pool.write_tx(work).await
            };
            let Err(error) = written else { return };
            if Instant::now() >= until {
                log::error!(
                    "the relay {} cannot write what it published, copies will follow: {error}",
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

fn write_down(
    db: &mut Db,
    owner: &str,
    rows: &Sorted,
    now: chrono::NaiveDateTime,
) -> Result<(), DbError> {
    if !rows.out.is_empty() {
        outbox::delete(db, &rows.out)?;
    }
    if !rows.aside.is_empty() {
        outbox::mark_unroutable(db, &rows.aside)?;
    }
    if !rows.kept.is_empty() {
        outbox::release(db, owner, &rows.kept, now)?;
    }
    Ok(())
}

fn message(row: &OutboxRow) -> Option<Message> {
    Some(Message {
        exchange: Exchange::from_name(&row.exchange)?,
        routing_key: row.routing_key.clone(),
        id: row.id.parse().ok()?,
        body: row.body.as_bytes().into(),
    })
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    u64::try_from(items.count()).unwrap_or(u64::MAX)
}
