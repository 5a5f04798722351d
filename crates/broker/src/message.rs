use std::fmt;
use std::sync::Arc;

use event_types::Exchange;
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
    /// The event's type.
    pub routing_key: String,
    /// The encoded event.
    pub body: Arc<[u8]>,
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

impl Default for ConsumeOptions {
    fn default() -> Self {
        Self {
            prefetch: 50,
            concurrency: 32,
        }
    }
}
