use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::http::StatusCode;
use auth_types::UserId;
use chrono::NaiveDateTime;
use prometheus::IntGauge;
use service_kit::Problem;
use service_kit::metrics::Metrics;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::timeout;

use super::config::EventStreamConfig;
use super::update::UpdateBatch;

/// Batches that a stream can lag behind before it receives `reset`.
const BATCHES: usize = 32;
/// How long a new stream waits for a read of the database.
const READ_TIMEOUT: Duration = Duration::from_secs(2);
/// Seconds after which a client can retry when there are too many streams.
const RETRY_AFTER: u64 = 30;

/// The state that the streams of this process share with the task that reads changes for them.
#[derive(Debug)]
pub(crate) struct StreamHub {
    config: EventStreamConfig,
    /// The number of open streams, for each user with any.
    users: Mutex<HashMap<UserId, usize>>,
    streams: watch::Sender<usize>,
    metric: IntGauge,
    batches: broadcast::Sender<Arc<UpdateBatch>>,
    /// The time up to which all changes were sent to the streams; none while nothing is read.
    position: watch::Sender<Option<NaiveDateTime>>,
    changed: Notify,
    stopping: watch::Sender<bool>,
}

impl StreamHub {
    /// Creates a hub without streams.
    ///
    /// # Errors
    /// When the metric is already registered.
    pub(crate) fn new(
        config: EventStreamConfig,
        metrics: &Metrics,
    ) -> Result<Arc<Self>, prometheus::Error> {
        let metric = IntGauge::new("event_streams", "Open event streams")?;
        Ok(Arc::new(Self {
            config,
            users: Mutex::default(),
            streams: watch::Sender::new(0),
            metric: metrics.register(metric)?,
            batches: broadcast::Sender::new(BATCHES),
            position: watch::Sender::new(None),
            changed: Notify::new(),
            stopping: watch::Sender::new(false),
        }))
    }

    /// Wakes the reader, after this process has committed a change of a session.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Ends all streams, and new ones at once.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Whether the service stops.
    pub(super) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(super) fn config(&self) -> EventStreamConfig {
        self.config
    }

    /// Registers another stream of the user: 429 or 503 when there are too many.
    pub(super) fn open(self: &Arc<Self>, user: UserId) -> Result<StreamSlot, Problem> {
        let mut users = self.users();
        let own = users.get(&user).copied().unwrap_or_default();
        if own >= self.config.streams_per_user {
            let problem = Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limited",
                "Too many event streams of this user are open",
            );
            return Err(problem.with_retry_after(RETRY_AFTER));
        }
        if *self.streams.borrow() >= self.config.streams {
            return Err(Problem::unavailable(
                "Too many event streams are open",
                RETRY_AFTER,
            ));
        }
        users.insert(user, own + 1);
        self.streams.send_modify(|open| *open += 1);
        self.metric.inc();
        Ok(StreamSlot {
            hub: Arc::clone(self),
            user,
        })
    }

    /// Subscribes to batches. Returns them with the time up to which earlier ones reach; none if the database is not read.
    pub(super) async fn join(
        &self,
    ) -> Option<(broadcast::Receiver<Arc<UpdateBatch>>, NaiveDateTime)> {
        // In this order a change that is read between the two steps arrives twice rather than never.
        let batches = self.batches.subscribe();
        let mut position = self.position.subscribe();
        let read = timeout(READ_TIMEOUT, position.wait_for(Option::is_some)).await;
        let position = read.ok()?.ok().and_then(|position| *position)?;
        Some((batches, position))
    }

    /// Returns the time up to which all changes were sent.
    pub(super) fn position(&self) -> Option<NaiveDateTime> {
        *self.position.borrow()
    }

    /// Waits until the streams must end.
    pub(super) async fn wait_until_stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // This cannot fail while the sender exists.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }

    /// Returns the number of open streams, as a channel that reports changes.
    pub(super) fn streams(&self) -> watch::Receiver<usize> {
        self.streams.subscribe()
    }

    /// Waits until this process has changed a session.
    pub(super) async fn wait_for_change(&self) {
        self.changed.notified().await;
    }

    pub(super) fn send_batch(&self, batch: UpdateBatch, position: NaiveDateTime) {
        if !batch.is_empty() {
            // An error means that the last stream has just ended.
            drop(self.batches.send(Arc::new(batch)));
        }
        self.position.send_replace(Some(position));
    }

    /// Clears the position if no stream is open, and returns whether it did, so that reading can stop. A stream that opens at
    /// the same time either comes first and keeps the reader running, or waits for the reader's next first read.
    pub(super) fn stop_if_unused(&self) -> bool {
        let users = self.users();
        if users.is_empty() {
            self.position.send_replace(None);
        }
        users.is_empty()
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, usize>> {
        // No code panics while it holds the lock.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The registration of one open stream, until it is dropped.
pub(super) struct StreamSlot {
    hub: Arc<StreamHub>,
    user: UserId,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut users = self.hub.users();
        if let Some(own) = users.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                users.remove(&self.user);
            }
        }
        self.hub.streams.send_modify(|open| *open -= 1);
        self.hub.metric.dec();
    }
}
