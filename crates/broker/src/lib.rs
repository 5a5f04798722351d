//! Messages between the parts: a [`Publisher`] and consumers over RabbitMQ or inside one process, the
//! topology both share, and the [`Relay`] that empties a service's outbox into either.
//!
//! Delivery is at least once. A publish is confirmed only when every bound queue holds the message on
//! disk (RabbitMQ) or every bound consumer has committed it (in memory), so that `kill -9` loses
//! nothing; a copy is possible after a crash, an expired lease or a lost confirm, and is counted.
//!
//! What it is not: it knows no event's content, and it keeps no retries; those are rows of the service
//! that consumes.

mod amqp;
mod broker;
mod handler;
mod memory;
mod message;
mod parked;
mod pause;
mod relay;
mod topology;
mod url;

pub use broker::{Broker, BrokerState, ConsumerHandle, Publisher};
pub use message::{BatchOptions, BrokerError, ConsumeOptions, Delivery, Message, Outcome, Verdict};
pub use parked::{InHand, ParkedError, ParkedMessage, ParkedQueue};
pub use relay::{Listened, Relay, RelayHandle, RelayOptions};
pub use topology::Queue;
pub use url::{BrokerUrl, InvalidBrokerUrl};
