use std::fmt;
use std::sync::Arc;

use event_types::{Event, Exchange};
use thiserror::Error;
use uuid::Uuid;

/// A message to be published.
#[derive(Clone)]
pub struct Message {
    /// Where to.
    pub exchange: Exchange,
    /// The event's type.
    pub routing_key: String,
    /// The event's id; the AMQP `message_id`.
    pub id: Uuid,
    /// The encoded event.
    pub body: Arc<[u8]>,
    /// Somebody's webhook hears of it: it goes to [`Queue::WorksessionWebhooks`](crate::Queue) too.
    pub listened: bool,
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Bodies carry what people wrote.
        f.debug_struct("Message")
            .field("routing_key", &self.routing_key)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// What became of a publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every bound queue has it safe.
    Confirmed,
    /// No queue is bound to this key.
    Returned,
    /// A bound queue or consumer did not take it; others may have.
    Nacked,
    /// A consumer of the memory broker found it unreadable. It has no queue to be parked in.
    Parked(String),
    /// It never left: there is no connection.
    Unsent(String),
    /// It left and no answer came: it may have arrived.
    Unconfirmed(String),
}

/// A message as a consumer gets it.
#[derive(Clone)]
pub struct Delivery {
    /// The event's id.
    pub id: Uuid,
    /// The event's type; empty when it was put straight into the queue, as what was parked is.
    pub routing_key: String,
    /// The encoded event.
    pub body: Arc<[u8]>,
}

impl Delivery {
    /// The event. RabbitMQ checks who may publish under a key, but for the further ones in the headers `CC` and `BCC`: so an
    /// event counts only under the key that is its type.
    ///
    /// # Errors
    /// Why it can never be read, shown beside the parked message.
    pub fn event(&self) -> Result<Event, String> {
        let event = Event::decode(&self.body).map_err(|cause| cause.to_string())?;
        if self.routing_key.is_empty() || self.routing_key == event.event_type {
            return Ok(event);
        }
        let (said, key) = (&event.event_type, &self.routing_key);
        Err(format!(
            "forged: it says {said} and came under the key {key}"
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

/// What a consumer decides about a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Committed: the broker may forget it.
    Ack,
    /// Not now, because something that everybody needs is away (the database): the same delivery comes
    /// again after a growing pause, for as long as it takes. Never for what is wrong with the message.
    Retry,
    /// Unreadable or unknown: set aside at once, with the reason in the log.
    Park(String),
}

/// How a consumer takes deliveries.
#[derive(Debug, Clone, Copy)]
pub struct ConsumeOptions {
    /// The most messages that the broker sends ahead.
    pub prefetch: u16,
    /// The most deliveries in the handler at once.
    pub concurrency: usize,
}

/// How a consumer that commits many deliveries at once takes them: one batch after the other, so that a batch is
/// acknowledged as a whole, and each as large as what has come while the one before was worked on.
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

/// How deliveries flow to a handler.
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
            // A batch in the handler and one that fills meanwhile: with the usual 50 no batch could be
            // longer, and the broker would wait for each commit before it sends on.
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

/// The broker did not answer a question.
#[derive(Debug, Clone, Error)]
#[error("the broker does not answer: {0}")]
pub struct BrokerError(pub(crate) String);
