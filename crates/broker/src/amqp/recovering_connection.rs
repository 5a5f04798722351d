use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties, Event};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::declare::{TopologyError, declare};
use crate::backoff::Backoff;

/// How long connecting and declaring may take, each.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a connection is checked in the absence of events.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// How long closing a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection that is re-established until it is closed.
///
/// The client library's own recovery is not used: it gives up after some attempts, and leaves channels closed after a
/// soft error. A lost connection is replaced as a whole.
pub(super) struct RecoveringConnection {
    slot: watch::Receiver<Option<Arc<Connection>>>,
    mismatch: Arc<Mutex<Option<String>>>,
    suspect: Arc<Notify>,
    replace_request: ReplaceRequest,
    supervisor: Mutex<Option<(watch::Sender<()>, JoinHandle<()>)>>,
}

/// The connection that a caller wants to have replaced.
type ReplaceRequest = Arc<Mutex<Option<Arc<Connection>>>>;

impl RecoveringConnection {
    pub(super) fn open(runtime: &Handle, uri: AMQPUri, name: String, prefix: Arc<str>) -> Self {
        let (sender, slot) = watch::channel(None);
        let (stop, stopping) = watch::channel(());
        let suspect = Arc::new(Notify::new());
        let replace_request = ReplaceRequest::default();
        let mismatch = Arc::<Mutex<Option<String>>>::default();
        let supervisor = Supervisor {
            uri,
            name,
            prefix,
            slot: sender,
            mismatch: Arc::clone(&mismatch),
            suspect: Arc::clone(&suspect),
            replace_request: Arc::clone(&replace_request),
            stopping,
        };
        let task = runtime.spawn(supervisor.run());
        Self {
            slot,
            mismatch,
            suspect,
            replace_request,
            supervisor: Mutex::new(Some((stop, task))),
        }
    }

    /// Returns the connection, if there is one now.
    pub(super) fn current(&self) -> Option<Arc<Connection>> {
        self.slot
            .borrow()
            .as_ref()
            .filter(|connection| connection.status().connected())
            .cloned()
    }

    /// Returns what an operator must fix before this broker can be used.
    pub(super) fn topology_mismatch(&self) -> Option<String> {
        self.mismatch.lock().clone()
    }

    /// Waits for a connection; `None` once this is closed.
    pub(super) async fn ready(&self) -> Option<Arc<Connection>> {
        self.wait_for(|_| true).await
    }

    /// Waits for a connection on which the broker accepts messages; `None` once this is closed.
    pub(super) async fn ready_to_publish(&self) -> Option<Arc<Connection>> {
        self.wait_for(|open| !open.status().blocked()).await
    }

    async fn wait_for(&self, is_usable: impl Fn(&Connection) -> bool) -> Option<Arc<Connection>> {
        let mut slot = self.slot.clone();
        loop {
            if let Some(connection) = self.current().filter(|connection| is_usable(connection)) {
                return Some(connection);
            }
            // The connection may be lost and not yet replaced: have it checked, and wait for the next one.
            self.suspect.notify_one();
            slot.changed().await.ok()?;
        }
    }

    /// Has the connection checked now rather than within a second.
    pub(super) fn suspect(&self) {
        self.suspect.notify_one();
    }

    /// Has the connection replaced and the topology declared again, if it is still in use.
    pub(super) fn request_replacement(&self, connection: &Arc<Connection>) {
        let mut request = self.replace_request.lock();
        *request = Some(Arc::clone(connection));
        drop(request);
        self.suspect();
    }

    pub(super) async fn close(&self) {
        let supervisor = self.supervisor.lock().take();
        if let Some((stop, task)) = supervisor {
            drop(stop);
            let _ = task.await;
        }
    }
}

struct Supervisor {
    uri: AMQPUri,
    name: String,
    prefix: Arc<str>,
    slot: watch::Sender<Option<Arc<Connection>>>,
    mismatch: Arc<Mutex<Option<String>>>,
    suspect: Arc<Notify>,
    replace_request: ReplaceRequest,
    stopping: watch::Receiver<()>,
}

impl Supervisor {
    async fn run(mut self) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            // An error means that it was closed or dropped.
            _ = stopping.changed() => {}
            () = self.keep_connected() => {}
        }
        let last = self.slot.send_replace(None);
        if let Some(connection) = last {
            let _ = timeout(CLOSE_TIMEOUT, connection.close(200, "closing".into())).await;
        }
    }

    async fn keep_connected(&mut self) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        let mut last_error = None;
        loop {
            match self.connect().await {
                Ok(connection) => {
                    log::info!("connected to the broker ({})", self.name);
                    last_error = None;
                    self.set_mismatch(None);
                    let connection = Arc::new(connection);
                    self.slot.send_replace(Some(Arc::clone(&connection)));
                    let since = tokio::time::Instant::now();
                    self.wait_until_lost(&connection).await;
                    self.slot.send_replace(None);
                    log::warn!("lost the connection to the broker ({})", self.name);
                    tokio::spawn(async move {
                        // A connection that is replaced on request may still be able to close.
                        let _ =
                            timeout(CLOSE_TIMEOUT, connection.close(200, "replaced".into())).await;
                    });
                    if since.elapsed() > Duration::from_secs(10) {
                        backoff.reset();
                    }
                }
                Err(error) => {
                    self.log_failure(&error, last_error.as_ref());
                    self.set_mismatch(match &error {
                        TopologyError::Mismatch(reason) => Some(reason.clone()),
                        TopologyError::Unavailable(_) => None,
                    });
                    last_error = Some(error);
                }
            }
            backoff.wait().await;
        }
    }

    /// Logs a failure loudly once, so that a long outage does not fill the log.
    fn log_failure(&self, error: &TopologyError, last_error: Option<&TopologyError>) {
        let name = &self.name;
        match (error, last_error) {
            (TopologyError::Mismatch(reason), last_error) if last_error != Some(error) => {
                log::error!("cannot use the broker ({name}), retrying: {reason}");
            }
            (TopologyError::Unavailable(reason), None | Some(TopologyError::Mismatch(_))) => {
                log::warn!("cannot use the broker ({name}), retrying: {reason}");
            }
            (TopologyError::Mismatch(reason) | TopologyError::Unavailable(reason), _) => {
                log::debug!("cannot use the broker ({name}), retrying: {reason}");
            }
        }
    }

    fn set_mismatch(&self, reason: Option<String>) {
        *self.mismatch.lock() = reason;
    }

    async fn connect(&self) -> Result<Connection, TopologyError> {
        let properties =
            ConnectionProperties::default().with_connection_name(self.name.clone().into());
        let connecting = Connection::connect_uri(self.uri.clone(), properties);
        let connection = match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(connected) => connected.map_err(|error| error.to_string())?,
            Err(_) => return Err("no answer in time".to_owned().into()),
        };
        match timeout(CONNECT_TIMEOUT, declare(&connection, &self.prefix)).await {
            Ok(declared) => declared.map(|()| connection),
            Err(_) => Err("declaring the queues took too long".to_owned().into()),
        }
    }

    /// Returns when the connection is lost or to be replaced. Wakes the tasks that wait for the broker to accept
    /// messages again.
    async fn wait_until_lost(&self, connection: &Arc<Connection>) {
        let mut events = connection.events_listener();
        let mut blocked = false;
        while connection.status().connected() && !self.is_replace_requested(connection) {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::ConnectionBlocked(reason)) => log::warn!("the broker accepts no messages: {reason}"),
                    Some(Event::ConnectionUnblocked) => log::info!("the broker accepts messages again"),
                    // The connection's status changes shortly after the event.
                    Some(_) => sleep(Duration::from_millis(20)).await,
                    None => sleep(CHECK_EVERY).await,
                },
                () = self.suspect.notified() => sleep(Duration::from_millis(20)).await,
                () = sleep(CHECK_EVERY) => {}
            }
            if connection.status().blocked() != blocked {
                blocked = !blocked;
                self.slot.send_modify(|_| {});
            }
        }
    }

    fn is_replace_requested(&self, connection: &Arc<Connection>) -> bool {
        let request = self.replace_request.lock().take();
        request.is_some_and(|requested| Arc::ptr_eq(&requested, connection))
    }
}
