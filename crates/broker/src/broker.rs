use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::amqp::Amqp;
use crate::handler::Handler;
use crate::in_memory::MemoryBroker;
use crate::message::Flow;
use crate::{
    Acknowledgement, BatchOptions, BrokerError, BrokerUrl, ConsumeOptions, Delivery, Message,
    PublishOutcome, Queue,
};

/// The connections to RabbitMQ, or the broker inside this process. Cheap to clone.
///
/// With RabbitMQ, everything runs as tasks of the runtime in which [`Broker::connect`] was called. It must not be an
/// actix worker, because a worker that is busy or stops would take the connection with it.
#[derive(Clone)]
pub struct Broker(Kind);

#[derive(Clone)]
enum Kind {
    Memory(Arc<MemoryBroker>),
    Amqp(Arc<Amqp>),
}

/// Whether messages can be published now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerState {
    /// The broker is inside this process, and always available.
    Memory,
    /// RabbitMQ is connected and the topology declared.
    Connected,
    /// RabbitMQ is not available. Connecting is retried without limit.
    Disconnected,
}

impl BrokerState {
    /// Returns the state in one word, for the readiness probe.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
        }
    }
}

impl Broker {
    /// Creates a broker inside this process.
    #[must_use]
    pub fn memory() -> Self {
        Self(Kind::Memory(Arc::new(MemoryBroker::default())))
    }

    /// Connects in the background and reconnects after each loss. It never fails because RabbitMQ is unavailable.
    ///
    /// `prefix` is put before the name of every exchange and queue; `app_name` names the connections. Call it in the
    /// multi-thread runtime of the process.
    #[must_use]
    pub fn connect(url: &BrokerUrl, prefix: &str, app_name: &str) -> Self {
        match url.amqp() {
            None => Self::memory(),
            Some(uri) => Self(Kind::Amqp(Arc::new(Amqp::open(uri, prefix, app_name)))),
        }
    }

    /// Returns the publishing side.
    #[must_use]
    pub fn publisher(&self) -> Publisher {
        Publisher(self.clone())
    }

    /// Calls `handler` for each message of the queue until the handle is stopped or dropped.
    ///
    /// A panic of the handler counts as a failed delivery. After ten of them, RabbitMQ dead-letters the message.
    #[must_use = "dropping the handle ends the consumer"]
    pub fn consume<F, Fut>(
        &self,
        queue: Queue,
        options: ConsumeOptions,
        handler: F,
    ) -> ConsumerHandle
    where
        F: Fn(Delivery) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Acknowledgement> + Send + 'static,
    {
        self.flow(queue, options.into(), Handler::for_one(handler))
    }

    /// Calls `handler` with the available messages, one batch after the other, until the handle is stopped or
    /// dropped. The handler returns an acknowledgement for each message, in order. A batch waits briefly to fill only when it
    /// closely follows a large one.
    ///
    /// If the handler panics at a batch, it gets the messages again one by one. So only those at which it panics
    /// count as failed.
    #[must_use = "dropping the handle ends the consumer"]
    pub fn consume_batches<F, Fut>(
        &self,
        queue: Queue,
        options: BatchOptions,
        handler: F,
    ) -> ConsumerHandle
    where
        F: Fn(Vec<Delivery>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Acknowledgement>> + Send + 'static,
    {
        self.flow(queue, options.into(), Handler::for_batches(handler))
    }

    fn flow(&self, queue: Queue, flow: Flow, handler: Handler) -> ConsumerHandle {
        let (stop, stopping) = watch::channel(());
        let task = match &self.0 {
            Kind::Memory(memory) => memory.consume(queue, flow, handler, stopping),
            Kind::Amqp(amqp) => amqp.consume(queue, flow, handler, stopping),
        };
        ConsumerHandle { stop, task }
    }

    /// Whether messages can be published now.
    #[must_use]
    pub fn state(&self) -> BrokerState {
        match &self.0 {
            Kind::Memory(_) => BrokerState::Memory,
            Kind::Amqp(amqp) if amqp.is_connected() => BrokerState::Connected,
            Kind::Amqp(_) => BrokerState::Disconnected,
        }
    }

    /// Returns [`BrokerState::name`] for the readiness probe, or what an operator must fix when RabbitMQ has the
    /// queues with other properties.
    #[must_use]
    pub fn report(&self) -> String {
        let state = self.state();
        match (&self.0, state) {
            (Kind::Amqp(amqp), BrokerState::Disconnected) => match amqp.topology_mismatch() {
                Some(reason) => format!("unusable: {reason}"),
                None => state.name().to_owned(),
            },
            _ => state.name().to_owned(),
        }
    }

    /// Returns the number of consumers of the queue, including those of other processes. Answers within 2 s.
    ///
    /// # Errors
    /// [`BrokerError`] when RabbitMQ does not answer.
    pub async fn consumers(&self, queue: Queue) -> Result<u32, BrokerError> {
        match &self.0 {
            Kind::Memory(memory) => Ok(memory.consumers(queue)),
            Kind::Amqp(amqp) => amqp.consumers(queue).await,
        }
    }

    /// Returns the number of dead letters: messages that no consumer could read. It is 0 in memory, where they stay
    /// in their outbox. Answers within 2 s.
    ///
    /// # Errors
    /// [`BrokerError`] when RabbitMQ does not answer.
    pub async fn count_dead_letters(&self) -> Result<u32, BrokerError> {
        match &self.0 {
            Kind::Memory(_) => Ok(0),
            Kind::Amqp(amqp) => amqp.count_dead_letters().await,
        }
    }

    /// Closes the connections. Call it after relays and consumers have stopped.
    pub async fn close(&self) {
        if let Kind::Amqp(amqp) = &self.0 {
            amqp.close().await;
        }
    }
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Broker").field(&self.state()).finish()
    }
}

/// Publishes messages with confirms. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Publisher(Broker);

impl Publisher {
    /// Publishes one message. Answers within about ten seconds.
    pub async fn publish(&self, message: Message) -> PublishOutcome {
        let unanswered = || PublishOutcome::Unconfirmed("no outcome".to_owned());
        self.publish_batch(vec![message])
            .await
            .pop()
            .unwrap_or_else(unanswered)
    }

    /// Publishes messages concurrently and returns their outcomes in the same order.
    pub async fn publish_batch(&self, messages: Vec<Message>) -> Vec<PublishOutcome> {
        match &self.0.0 {
            Kind::Memory(memory) => memory.publish(messages).await,
            Kind::Amqp(amqp) => amqp.publish(messages).await,
        }
    }

    /// Waits until there is a connection to publish on.
    pub async fn ready(&self) {
        match &self.0.0 {
            Kind::Memory(_) => {}
            Kind::Amqp(amqp) => amqp.ready_to_publish().await,
        }
    }
}

/// A running consumer. Dropping the handle ends the consumer without waiting.
#[derive(Debug)]
pub struct ConsumerHandle {
    stop: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl ConsumerHandle {
    /// Takes no further messages, and waits at most ten seconds until those in progress are settled.
    pub async fn stop(self) {
        drop(self.stop);
        // The task ends by itself. It fails only when the runtime shuts down.
        let _ = self.task.await;
    }
}
