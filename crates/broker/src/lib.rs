//! Messages between the parts: a [`Publisher`] and consumers, over RabbitMQ or inside one process, their common
//! topology, and the [`Relay`] that publishes a service's outbox.
//!
//! Delivery is at least once. A publish is confirmed only when every bound queue holds the message on disk (RabbitMQ)
//! or every bound consumer has committed it (memory). So `kill -9` loses nothing. A crash, an expired lease or a lost
//! confirm can cause a duplicate, which is counted.
//!
//! This crate knows no event's content and stores no retries. Those are rows of the consuming service.

mod amqp;
mod backoff;
mod broker;
mod dead_letters;
mod handler;
mod in_memory;
mod message;
mod relay;
mod topology;
mod url;

pub use broker::{Broker, BrokerState, ConsumerHandle, Publisher};
pub use dead_letters::{DeadLetter, DeadLetterCheckout, DeadLetterError, DeadLetterQueue};
pub use message::{
    Acknowledgement, BatchOptions, BrokerError, ConsumeOptions, Delivery, Message, PublishOutcome,
};
pub use relay::{
    BccFilter, Completion, CompletionFuture, Relay, RelayHandle, RelayOptions, RowCompletion,
};
pub use topology::Queue;
pub use url::{BrokerUrl, InvalidBrokerUrl};
