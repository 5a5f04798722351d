//! The relay: publishes the rows of a service's outbox.
//!
//! A short transaction leases the rows. They are published outside it, so that a slow broker holds no lock.
//! Confirmed rows are deleted, and all others are released. The relays of several replicas work concurrently.

mod metrics;
mod outbox;

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::outbox::OutboxRow;
use db_kit::{Db, DbError, Pool};
use prometheus::Registry;
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep, sleep_until};

use crate::Publisher;
use crate::backoff::Backoff;
use metrics::Metrics;
use outbox::{Outbox, RelayedBatch};

/// How long the relay waits for further rows after a wake-up, so that a burst is one transaction.
const COALESCE_FOR: Duration = Duration::from_millis(5);

/// How long it waits after a wake-up that follows a batch within [`STREAM`].
const COALESCE_IN_STREAM_FOR: Duration = Duration::from_millis(20);
const STREAM: Duration = Duration::from_millis(50);

/// How often the gauges are read from the database.
const OBSERVE_EVERY: Duration = Duration::from_secs(5);

/// The options of a relay.
#[derive(Clone)]
pub struct RelayOptions {
    /// The label of its metrics.
    pub name: String,
    /// The clock of the outbox rows, in UTC.
    pub now: Arc<dyn Fn() -> NaiveDateTime + Send + Sync>,
    /// How often the outbox is read even without a wake-up, for rows from other processes.
    pub poll: Duration,
    /// How long rows are leased. The rows of a crashed relay become free after this time.
    pub lease: Duration,
    /// The maximum number of rows in a lease.
    pub batch: i64,
    /// The maximum number of batches in progress at once.
    pub batches: usize,
    /// Finds the rows that have a subscribed webhook. Without it, no row is assumed to have one.
    pub bcc_filter: Option<BccFilter>,
    /// Completes rows of one type. Without it, all rows are published as they are.
    pub completion: Option<RowCompletion>,
}

/// Returns the ids of the rows that have a subscribed webhook.
pub type BccFilter =
    Arc<dyn Fn(&mut Db, &[OutboxRow]) -> Result<HashSet<String>, DbError> + Send + Sync>;

/// Completes the rows of one type when they are published, outside of any transaction.
#[derive(Clone)]
pub struct RowCompletion {
    /// The routing key of these rows.
    pub routing_key: &'static str,
    /// Returns what is published in place of the row. Rows that are not completed within a third of a lease wait for another one.
    pub complete: Arc<dyn Fn(OutboxRow) -> CompletionFuture + Send + Sync>,
}

/// The outcome of a [`RowCompletion`], once it is there.
pub type CompletionFuture = Pin<Box<dyn Future<Output = Completion> + Send>>;

/// The outcome of a [`RowCompletion`].
#[derive(Debug)]
pub enum Completion {
    /// The row to publish.
    Done(OutboxRow),
    /// The row stays in the outbox and is tried again, for this reason.
    Later(String),
    /// The row can never be completed, for this reason, and is marked unroutable.
    Never(String),
}

impl RelayOptions {
    /// Returns the defaults: a poll every 500 ms, leases of 30 s, and two batches of 500 rows in progress.
    #[must_use]
    pub fn new(name: &str, now: impl Fn() -> NaiveDateTime + Send + Sync + 'static) -> Self {
        Self {
            name: name.to_owned(),
            now: Arc::new(now),
            poll: Duration::from_millis(500),
            lease: Duration::from_secs(30),
            batch: 500,
            batches: 2,
            bcc_filter: None,
            completion: None,
        }
    }
}

/// Starts relays; see [`Relay::spawn`].
#[derive(Debug)]
pub struct Relay;

impl Relay {
    /// Starts a relay as a task of the current runtime.
    #[must_use]
    pub fn spawn(
        pool: Pool,
        publisher: Publisher,
        options: RelayOptions,
        registry: &Registry,
    ) -> RelayHandle {
        let metrics = match Metrics::register(&options.name, registry) {
            Ok(metrics) => Some(metrics),
            Err(error) => {
                log::error!("the relay {} runs without metrics: {error}", options.name);
                None
            }
        };
        let wake = Arc::new(Notify::new());
        let (stop, stopping) = watch::channel(false);
        let outbox = Outbox::new(pool, publisher, options, metrics);
        let task = tokio::spawn(run(outbox, Arc::clone(&wake), stopping));
        RelayHandle {
            wake,
            stop: Arc::new(stop),
            task: Arc::new(Mutex::new(Some(task))),
        }
    }
}

/// A running relay. It ends when every clone of its handle is dropped. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RelayHandle {
    wake: Arc<Notify>,
    stop: Arc<watch::Sender<bool>>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl RelayHandle {
    /// Signals that rows were committed to the outbox. It does not block.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Stops leasing, and waits at most about twenty seconds for the batches in progress to be settled.
    pub async fn stop(&self) {
        self.stop.send_replace(true);
        if let Some(task) = self.task.lock().await.take() {
            // The task ends by itself. It fails only when the runtime shuts down.
            let _ = task.await;
        }
    }
}

async fn run(outbox: Outbox, wake: Arc<Notify>, mut stopping: watch::Receiver<bool>) {
    let outbox = Arc::new(outbox);
    let mut in_progress = JoinSet::new();
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    let mut observe = interval(OBSERVE_EVERY);
    observe.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // After a failure, nothing is leased before `backoff_until`. Otherwise a wake or the poll decides.
    let (mut backoff_until, mut next_poll) = (Instant::now(), Instant::now());
    let mut leased_at = None;
    let mut woken = true;
    wait_for_broker(&outbox, &mut observe, stopping.clone()).await;
    loop {
        let now = Instant::now();
        let has_room = in_progress.len() < outbox.options.batches;
        if has_room && now >= backoff_until && (woken || now >= next_poll) {
            let leased = outbox.lease(woken).await;
            next_poll = Instant::now() + outbox.options.poll;
            match leased {
                Ok(batch) => {
                    woken = batch.more;
                    if !batch.rows.is_empty() {
                        leased_at = Some(Instant::now());
                        in_progress.spawn(Arc::clone(&outbox).publish(batch));
                    }
                }
                Err(error) => {
                    log::warn!(
                        "the relay {} cannot read its outbox: {error}",
                        outbox.options.name
                    );
                    backoff_until = Instant::now() + backoff.step();
                }
            }
        }
        let has_room = in_progress.len() < outbox.options.batches;
        let next_lease = if woken {
            backoff_until
        } else {
            next_poll.max(backoff_until)
        };
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            _ = observe.tick() => outbox.observe().await,
            Some(relayed) = in_progress.join_next() => {
                // After a panic, the rows stay leased until the lease expires.
                let Ok(RelayedBatch { some_confirmed, some_retained, some_late, connected }) = relayed else { continue };
                if some_confirmed {
                    backoff.reset();
                }
                if some_late {
                    next_poll = Instant::now();
                }
                if some_retained {
                    // Those rows are free at once, so this relay is what has to wait.
                    backoff_until = Instant::now() + backoff.step();
                }
                if !connected {
                    wait_for_broker(&outbox, &mut observe, stopping.clone()).await;
                    woken = true;
                }
            }
            () = wake.notified(), if !woken => {
                let in_stream = leased_at.is_some_and(|at: Instant| at.elapsed() < STREAM);
                sleep(if in_stream { COALESCE_IN_STREAM_FOR } else { COALESCE_FOR }).await;
                woken = true;
            }
            () = sleep_until(next_lease), if has_room => {}
        }
    }
    while in_progress.join_next().await.is_some() {}
}

/// Waits until the broker is available. Until then, no row is leased, and the database has no extra load.
async fn wait_for_broker(
    outbox: &Outbox,
    observe: &mut Interval,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = outbox.publisher.ready() => return,
            _ = observe.tick() => outbox.observe().await,
        }
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that every handle was dropped.
    let _ = stopping.wait_for(|stop| *stop).await;
}
