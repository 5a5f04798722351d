use std::fmt;
use std::sync::Arc;

use event_types::{Event, Exchange};
use thiserror::Error;
use uuid::Uuid;

/// A message to publish.
#[derive(Clone)]
pub struct Message {
    /// The exchange that it is published to.
    pub exchange: Exchange,
    /// The event's type.
    pub routing_key: String,
    /// The event's id; also the AMQP `message_id`.
    pub id: Uuid,
    /// The encoded event.
    pub body: Arc<[u8]>,
    /// Whether a webhook is subscribed to the event. The message then also goes to [`Queue::WorksessionWebhooks`](crate::Queue).
    pub has_subscriber: bool,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A body contains text that users wrote.
        f.debug_struct("Message")
            .field("routing_key", &self.routing_key)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The outcome of a publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublishOutcome {
    /// Every bound queue has stored the message.
    Confirmed,
    /// No queue is bound to its key.
    Returned,
    /// A bound queue or consumer did not accept the message; others may have.
    Nacked,
    /// A consumer of the memory broker cannot read the message. That broker has no dead-letter queue.
    Unreadable(String),
    /// The message was not sent, because there is no connection.
    Unsent(String),
    /// The message was sent but not confirmed. It may have arrived.
    Unconfirmed(String),
}

/// A message as a consumer receives it.
#[derive(Clone)]
pub struct Delivery {
    /// The event's id.
    pub id: Uuid,
    /// The event's type; empty when the message was published to the queue directly, as a replayed dead letter is.
    pub routing_key: String,
    /// The encoded event.
    pub body: Arc<[u8]>,
}

impl Delivery {
    /// Decodes the event, and checks that its type is the routing key. RabbitMQ checks who may publish under a key,
    /// but not the further keys in the headers `CC` and `BCC`.
    ///
    /// # Errors
    /// The reason why the message can never be read; it is shown beside the dead letter.
    pub fn event(&self) -> Result<Event, String> {
        let event = Event::decode(&self.body).map_err(|cause| cause.to_string())?;
        if self.routing_key.is_empty() || self.routing_key == event.event_type {
            return Ok(event);
        }
        let (said, key) = (&event.event_type, &self.routing_key);
        Err(format!(
            "forged: its type is {said}, but its routing key is {key}"
        ))
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("routing_key", &self.routing_key)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A consumer's decision about a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledgement {
    /// The effect is committed; the broker may delete the message.
    Ack,
    /// A dependency such as the database is unavailable. The delivery is handled again after a growing delay, for as
    /// long as it takes. Not for a message that is itself wrong.
    Retry,
    /// The message is unreadable or unknown. It is dead-lettered at once, and the reason is logged.
    DeadLetter(String),
}

/// How many deliveries a consumer handles at once.
#[derive(Debug, Clone, Copy)]
pub struct ConsumeOptions {
    /// The most unacknowledged messages that the broker sends.
    pub prefetch: u16,
    /// The most deliveries in the handler at once.
    pub concurrency: usize,
}

/// The batch size of a consumer that commits many deliveries at once. Batches are handled one after the other, so
/// that each is acknowledged as a whole. Each one takes the deliveries that arrived during the one before.
#[derive(Debug, Clone, Copy)]
pub struct BatchOptions {
    /// The most deliveries in a batch, 1 to 1,000.
    pub most: u16,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self { most: 500 }
    }
}

/// The prefetch count, concurrency and batch size of a handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) prefetch: u16,
    pub(crate) concurrency: usize,
    pub(crate) batch: usize,
}

impl From<ConsumeOptions> for Flow {
    fn from(options: ConsumeOptions) -> Self {
        Self {
            prefetch: options.prefetch,
            concurrency: options.concurrency.max(1),
            batch: 1,
        }
    }
}

impl From<BatchOptions> for Flow {
    fn from(options: BatchOptions) -> Self {
        let most = options.most.clamp(1, 1_000);
        Self {
            // One batch in the handler and one that fills meanwhile. With the usual 50, no batch could be larger, and
            // the broker would wait for each commit before it sends more.
            prefetch: most * 2,
            concurrency: 1,
            batch: usize::from(most),
        }
    }
}

impl Default for ConsumeOptions {
    fn default() -> Self {
        Self {
            prefetch: 50,
            concurrency: 32,
        }
    }
}

/// The broker did not answer a query.
#[derive(Debug, Clone, Error)]
#[error("the broker does not answer: {0}")]
pub struct BrokerError(pub(crate) String);
