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

use super::change::Batch;
use super::config::LiveConfig;

/// Batches that a stream may be behind before it is told to ask again.
const BATCHES: usize = 32;
/// How long a new stream waits until the database was read.
const PATIENCE: Duration = Duration::from_secs(2);
/// Seconds after which a client that found no place may try again.
const TRY_AGAIN: u64 = 30;

/// What the streams of this process and the task that reads for them share.
#[derive(Debug)]
pub(crate) struct Hub {
    config: LiveConfig,
    /// Open streams of each user who has any.
    users: Mutex<HashMap<UserId, usize>>,
    streams: watch::Sender<usize>,
    figure: IntGauge,
    batches: broadcast::Sender<Arc<Batch>>,
    /// Everything up to here was handed out; none while nobody reads.
    position: watch::Sender<Option<NaiveDateTime>>,
    changed: Notify,
    stopping: watch::Sender<bool>,
}

impl Hub {
    /// No streams yet.
    ///
    /// # Errors
    /// When the figure is registered already.
    pub(crate) fn new(
        config: LiveConfig,
        metrics: &Metrics,
    ) -> Result<Arc<Self>, prometheus::Error> {
        let figure = IntGauge::new("event_streams", "Streams of live events that are open")?;
        Ok(Arc::new(Self {
            config,
            users: Mutex::default(),
            streams: watch::Sender::new(0),
            figure: metrics.register(figure)?,
            batches: broadcast::Sender::new(BATCHES),
            position: watch::Sender::new(None),
            changed: Notify::new(),
            stopping: watch::Sender::new(false),
        }))
    }

    /// Says that this process has committed a change of a session: it is read at once.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Ends all streams, and opens no more.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub(super) fn config(&self) -> LiveConfig {
        self.config
    }

    /// A place for another stream of the user's.
    pub(super) fn open(self: &Arc<Self>, user: UserId) -> Result<Place, Problem> {
        if *self.stopping.borrow() {
            return Err(Problem::unavailable("The service is stopping", 1));
        }
        let mut users = self.users();
        let own = users.get(&user).copied().unwrap_or_default();
        if own >= self.config.streams_per_user {
            let problem = Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limited",
                "Too many event streams of this user are open",
            );
            return Err(problem.with_retry_after(TRY_AGAIN));
        }
        if *self.streams.borrow() >= self.config.streams {
            return Err(Problem::unavailable(
                "Too many event streams are open",
                TRY_AGAIN,
            ));
        }
        users.insert(user, own + 1);
        self.streams.send_modify(|open| *open += 1);
        self.figure.inc();
        Ok(Place {
            hub: Arc::clone(self),
            user,
        })
    }

    /// What is handed out from now on, and up to where it was; none when the database was not read in time.
    pub(super) async fn join(&self) -> Option<(broadcast::Receiver<Arc<Batch>>, NaiveDateTime)> {
        // In this order: what is read between the two comes twice rather than never.
        let batches = self.batches.subscribe();
        let mut position = self.position.subscribe();
        let read = timeout(PATIENCE, position.wait_for(Option::is_some)).await;
        let position = read.ok()?.ok().and_then(|position| *position)?;
        Some((batches, position))
    }

    /// Up to where everything was handed out.
    pub(super) fn position(&self) -> Option<NaiveDateTime> {
        *self.position.borrow()
    }

    /// Waits until the streams are to end.
    pub(super) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // It cannot fail while the sender is here.
        drop(stopping.wait_for(|stopping| *stopping).await);
    }

    /// How many streams are open.
    pub(super) fn streams(&self) -> watch::Receiver<usize> {
        self.streams.subscribe()
    }

    /// Waits until this process has changed something.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn hand_out(&self, batch: Batch, position: NaiveDateTime) {
        if !batch.is_empty() {
            // An error says that the last stream has just ended.
            drop(self.batches.send(Arc::new(batch)));
        }
        self.position.send_replace(Some(position));
    }

    /// Forgets the position when no stream is open, and says so: nothing is read then. A stream that opens meanwhile
    /// either comes before and keeps the reader at work, or waits for its next first look.
    pub(super) fn rest(&self) -> bool {
        let users = self.users();
        if users.is_empty() {
            self.position.send_replace(None);
        }
        users.is_empty()
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, usize>> {
        // Nothing panics while it is held.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one open stream; free again when this is dropped.
pub(super) struct Place {
    hub: Arc<Hub>,
    user: UserId,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut users = self.hub.users();
        if let Some(own) = users.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                users.remove(&self.user);
            }
        }
        self.hub.streams.send_modify(|open| *open -= 1);
        self.hub.figure.dec();
    }
}
