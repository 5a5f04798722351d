use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties, Event};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::declare::declare;
use crate::pause::Pause;

/// How long connecting, or declaring, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a connection is looked at that tells nothing by itself.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a broker may take to say goodbye.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection that is made again for as long as somebody wants it.
///
/// The client library's own recovery gives up after some attempts and leaves channels closed by a soft
/// error as they are, so that it is not used: a lost connection is replaced as a whole.
pub(super) struct Link {
    slot: watch::Receiver<Option<Arc<Connection>>>,
    suspect: Arc<Notify>,
    supervisor: Mutex<Option<(watch::Sender<()>, JoinHandle<()>)>>,
}

impl Link {
    pub(super) fn open(runtime: &Handle, uri: AMQPUri, name: String, prefix: Arc<str>) -> Self {
        let (sender, slot) = watch::channel(None);
        let (stop, stopping) = watch::channel(());
        let suspect = Arc::new(Notify::new());
        let supervisor = Supervisor {
            uri,
            name,
            prefix,
            slot: sender,
            suspect: Arc::clone(&suspect),
            stopping,
        };
        let task = runtime.spawn(supervisor.run());
        Self {
            slot,
            suspect,
            supervisor: Mutex::new(Some((stop, task))),
        }
    }

    /// The connection, if there is one now.
    pub(super) fn current(&self) -> Option<Arc<Connection>> {
        self.slot
            .borrow()
            .as_ref()
            .filter(|connection| connection.status().connected())
            .cloned()
    }

    /// The connection, as soon as there is one; `None` once the link is closed.
    pub(super) async fn ready(&self) -> Option<Arc<Connection>> {
        let mut slot = self.slot.clone();
        loop {
            if let Some(connection) = self.current() {
                return Some(connection);
            }
            // A connection that was lost and not yet replaced: look at it, and wait for the next one.
            self.suspect.notify_one();
            slot.changed().await.ok()?;
        }
    }

    /// Has the connection looked at now rather than within a second.
    pub(super) fn suspect(&self) {
        self.suspect.notify_one();
    }

    pub(super) async fn close(&self) {
        let supervisor = self
            .supervisor
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
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
    suspect: Arc<Notify>,
    stopping: watch::Receiver<()>,
}

impl Supervisor {
    async fn run(mut self) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            // Ends with an error, which is the sign: the link is closed or dropped.
            _ = stopping.changed() => {}
            () = self.keep_connected() => {}
        }
        let last = self.slot.send_replace(None);
        if let Some(connection) = last {
            let _ = timeout(CLOSE_TIMEOUT, connection.close(200, "closing".into())).await;
        }
    }

    async fn keep_connected(&mut self) {
        let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
        let mut told = false;
        loop {
            match self.connect().await {
                Ok(connection) => {
                    log::info!("connected to the broker ({})", self.name);
                    told = false;
                    let connection = Arc::new(connection);
                    self.slot.send_replace(Some(Arc::clone(&connection)));
                    let since = tokio::time::Instant::now();
                    self.until_lost(&connection).await;
                    self.slot.send_replace(None);
                    log::warn!("lost the connection to the broker ({})", self.name);
                    if since.elapsed() > Duration::from_secs(10) {
                        pause.reset();
                    }
                }
                Err(reason) => {
                    // Once aloud; an outage of hours is no reason to fill the log.
                    let level = if told {
                        log::Level::Debug
                    } else {
                        log::Level::Warn
                    };
                    log::log!(
                        level,
                        "cannot use the broker ({}), trying again: {reason}",
                        self.name
                    );
                    told = true;
                }
            }
            pause.wait().await;
        }
    }

    async fn connect(&self) -> Result<Connection, String> {
        let properties =
            ConnectionProperties::default().with_connection_name(self.name.clone().into());
        let connecting = Connection::connect_uri(self.uri.clone(), properties);
        let connection = match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(connected) => connected.map_err(|error| error.to_string())?,
            Err(_) => return Err("no answer in time".to_owned()),
        };
        match timeout(CONNECT_TIMEOUT, declare(&connection, &self.prefix)).await {
            Ok(declared) => declared.map(|()| connection),
            Err(_) => Err("declaring the queues took too long".to_owned()),
        }
    }

    async fn until_lost(&self, connection: &Connection) {
        let mut events = connection.events_listener();
        while connection.status().connected() {
            tokio::select! {
                event = events.next() => match event {
                    Some(Event::ConnectionBlocked(reason)) => log::warn!("the broker takes no messages: {reason}"),
                    Some(Event::ConnectionUnblocked) => log::info!("the broker takes messages again"),
                    // The connection's state follows its event.
                    Some(_) => sleep(Duration::from_millis(20)).await,
                    None => sleep(LOOK_EVERY).await,
                },
                () = self.suspect.notified() => sleep(Duration::from_millis(20)).await,
                () = sleep(LOOK_EVERY) => {}
            }
        }
    }
}
