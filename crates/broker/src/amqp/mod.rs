//! RabbitMQ, over two connections. A broker that is short of memory stops reading from a connection that publishes,
//! and acknowledgements on it would wait too.

mod argument_mismatch;
mod consume;
mod declare;
mod publish;
mod recovering_connection;

use std::sync::Arc;
use std::time::Duration;

use lapin::Channel;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use lapin::uri::AMQPUri;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::handler::Handler;
use crate::message::Flow;
use crate::topology::DEAD_LETTER_QUEUE;
use crate::{BrokerError, Queue};
pub(crate) use declare::name;
pub(crate) use publish::PERSISTENT;
use recovering_connection::RecoveringConnection;

/// How long a query about a queue may take.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// The most batches that are published concurrently.
const BATCHES_AT_ONCE: usize = 16;

pub(crate) struct Amqp {
    runtime: Handle,
    prefix: Arc<str>,
    publishing: RecoveringConnection,
    consuming: RecoveringConnection,
    /// Idle channels in confirm mode.
    idle_channels: Mutex<Vec<Channel>>,
    /// A batch has a channel to itself, and RabbitMQ limits the channels of a connection.
    batches: Semaphore,
}

impl Amqp {
    pub(crate) fn open(uri: AMQPUri, prefix: &str, app_name: &str) -> Self {
        let runtime = Handle::current();
        let prefix: Arc<str> = prefix.into();
        let open = |role: &str| {
            RecoveringConnection::open(
                &runtime,
                uri.clone(),
                format!("{app_name} {role}"),
                Arc::clone(&prefix),
            )
        };
        let (publishing, consuming) = (open("publish"), open("consume"));
        Self {
            runtime,
            prefix,
            publishing,
            consuming,
            idle_channels: Mutex::default(),
            batches: Semaphore::new(BATCHES_AT_ONCE),
        }
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.publishing.current().is_some() && self.consuming.current().is_some()
    }

    /// Returns why this broker cannot have the topology, if so.
    pub(crate) fn topology_mismatch(&self) -> Option<String> {
        let publishing = self.publishing.topology_mismatch();
        publishing.or_else(|| self.consuming.topology_mismatch())
    }

    pub(crate) async fn ready_to_publish(&self) {
        // `None` means that the broker is being closed; the publish that follows reports that.
        let _ = self.publishing.ready_to_publish().await;
    }

    pub(crate) fn consume(
        self: &Arc<Self>,
        queue: Queue,
        flow: Flow,
        handler: Handler,
        stopping: watch::Receiver<()>,
    ) -> JoinHandle<()> {
        self.runtime.spawn(consume::run(
            Arc::clone(self),
            queue,
            flow,
            handler,
            stopping,
        ))
    }

    pub(crate) async fn consumers(&self, queue: Queue) -> Result<u32, BrokerError> {
        let inspected = self.inspect(queue.name()).await?;
        Ok(inspected.consumer_count())
    }

    pub(crate) async fn count_dead_letters(&self) -> Result<u32, BrokerError> {
        let inspected = self.inspect(DEAD_LETTER_QUEUE).await?;
        Ok(inspected.message_count())
    }

    /// Returns the message and consumer counts of a queue.
    async fn inspect(&self, queue: &str) -> Result<lapin::Queue, BrokerError> {
        let connection = self
            .consuming
            .current()
            .ok_or_else(|| BrokerError("not connected".to_owned()))?;
        let name = name(&self.prefix, queue).map_err(BrokerError)?;
        let query = async {
            let channel = connection.create_channel().await?;
            let options = QueueDeclareOptions {
                passive: true,
                ..QueueDeclareOptions::default()
            };
            let inspected = channel
                .queue_declare(name, options, FieldTable::default())
                .await?;
            channel.close(200, "done".into()).await?;
            Ok::<_, lapin::Error>(inspected)
        };
        match timeout(QUERY_TIMEOUT, query).await {
            Ok(inspected) => inspected.map_err(|error| BrokerError(error.to_string())),
            Err(_) => Err(BrokerError("no answer in time".to_owned())),
        }
    }

    pub(crate) async fn close(&self) {
        self.publishing.close().await;
        self.consuming.close().await;
    }
}
