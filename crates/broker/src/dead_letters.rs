//! The dead-letter queue (`work.parked`): lists messages, replays them to their queues, or deletes them.
//!
//! Messages are received without an acknowledgement, so that they return to the queue whatever happens to the program
//! that reads them.

mod message;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{Channel, Connection, ConnectionProperties, ErrorKind};
use thiserror::Error;
use tokio::time::timeout;

use crate::BrokerUrl;
use crate::topology::DEAD_LETTER_QUEUE;
pub use message::DeadLetter;

/// How long the broker may take for one step.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for the next message when the queue has reported one. If it does not come, another program has
/// received it.
const IDLE: Duration = Duration::from_secs(2);

/// The AMQP reply code for a queue that does not exist.
const NOT_FOUND: u16 = 404;

/// Why the dead-letter queue cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeadLetterError {
    /// The broker is not RabbitMQ. The memory broker has no dead-letter queue.
    #[error("the memory broker has no dead-letter queue")]
    NoBroker,
    /// The broker is unavailable, refuses the connection, or was lost.
    #[error("the broker does not answer: {0}")]
    Unavailable(String),
    /// The queue has not been declared.
    #[error("there is no queue {0} on the broker")]
    NoQueue(String),
}

impl From<lapin::Error> for DeadLetterError {
    fn from(error: lapin::Error) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// The dead-letter queue on RabbitMQ, over a connection of its own.
#[derive(Debug)]
pub struct DeadLetterQueue {
    connection: Connection,
    prefix: Arc<str>,
    name: ShortString,
}

impl DeadLetterQueue {
    /// Connects without declaring anything. `prefix` is put before every name; `app_name` names the connection.
    ///
    /// # Errors
    /// [`DeadLetterError`] when there is no RabbitMQ or it does not answer.
    pub async fn connect(
        url: &BrokerUrl,
        prefix: &str,
        app_name: &str,
    ) -> Result<Self, DeadLetterError> {
        let uri = url.amqp().ok_or(DeadLetterError::NoBroker)?;
        let name =
            crate::amqp::name(prefix, DEAD_LETTER_QUEUE).map_err(DeadLetterError::Unavailable)?;
        let properties = ConnectionProperties::default().with_connection_name(app_name.into());
        let connection = within(Connection::connect_uri(uri, properties)).await?;
        Ok(Self {
            connection,
            prefix: prefix.into(),
            name,
        })
    }

    /// Returns the number of dead letters that no consumer has received.
    ///
    /// # Errors
    /// [`DeadLetterError`] when the queue is missing or the broker does not answer.
    pub async fn count(&self) -> Result<u32, DeadLetterError> {
        let channel = within(self.connection.create_channel()).await?;
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let declared = channel.queue_declare(self.name.clone(), options, FieldTable::default());
        let queue = match timeout(STEP_TIMEOUT, declared).await {
            Ok(declared) => declared.map_err(|error| match error.kind() {
                ErrorKind::ProtocolError(reply) if reply.get_id() == NOT_FOUND => {
                    DeadLetterError::NoQueue(self.name.to_string())
                }
                _ => error.into(),
            })?,
            Err(_) => return Err(DeadLetterError::Unavailable("no answer in time".to_owned())),
        };
        within(channel.close(200, "done".into())).await?;
        Ok(queue.message_count())
    }

    /// Starts to receive messages, oldest first.
    ///
    /// # Errors
    /// [`DeadLetterError`] when the broker does not answer.
    pub async fn check_out(&self) -> Result<DeadLetterCheckout, DeadLetterError> {
        let channel = within(self.connection.create_channel()).await?;
        let publish_channel = within(self.connection.create_channel()).await?;
        within(channel.tx_select()).await?;
        within(publish_channel.confirm_select(ConfirmSelectOptions::default())).await?;
        Ok(DeadLetterCheckout {
            channel,
            publish_channel,
            prefix: Arc::clone(&self.prefix),
            name: self.name.clone(),
        })
    }

    /// Closes the connection.
    pub async fn close(self) {
        // The broker also notices a connection that is not closed.
        let _ = within(self.connection.close(200, "done".into())).await;
    }
}

/// Dead letters that were received. Those that are neither replayed nor discarded return to the queue, in order,
/// after [`DeadLetterCheckout::return_rest`] or the end of the process.
#[derive(Debug)]
pub struct DeadLetterCheckout {
    /// Receives the messages and acknowledges them in transactions. A quorum queue gets a transaction's
    /// acknowledgements at once; single ones can be lost if the channel closes before the queue has handled them.
    channel: Channel,
    /// Publishes with confirms, which a channel with transactions cannot use.
    publish_channel: Channel,
    prefix: Arc<str>,
    name: ShortString,
}

impl DeadLetterCheckout {
    /// Receives the next `limit` messages, or fewer when no more are available. Pass at most [`DeadLetterQueue::count`],
    /// because later dead letters, such as a replayed message that is still unreadable, would come too.
    ///
    /// # Errors
    /// [`DeadLetterError`] when the broker does not answer.
    pub async fn next(&mut self, limit: u16) -> Result<Vec<DeadLetter>, DeadLetterError> {
        let mut messages = Vec::new();
        if limit == 0 {
            return Ok(messages);
        }
        // RabbitMQ sends a consumer at most as many unacknowledged messages as its prefetch count.
        within(self.channel.basic_qos(limit, BasicQosOptions::default())).await?;
        let consuming = self.channel.basic_consume(
            self.name.clone(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        let mut consumer = within(consuming).await?;
        while messages.len() < usize::from(limit) {
            match timeout(IDLE, consumer.next()).await {
                Ok(Some(raw)) => messages.push(DeadLetter::from_delivery(raw?, &self.prefix)),
                Ok(None) => {
                    return Err(DeadLetterError::Unavailable(
                        "the consumer was cancelled".to_owned(),
                    ));
                }
                Err(_) => break,
            }
        }
        let cancelling = self
            .channel
            .basic_cancel(consumer.tag(), BasicCancelOptions::default());
        within(cancelling).await?;
        Ok(messages)
    }

    /// Publishes messages to the queues that dead-lettered them, and removes each one from the dead-letter queue once
    /// that is confirmed. A crash in between leaves a duplicate, which the consumer's inbox drops.
    ///
    /// # Errors
    /// [`DeadLetterError`] when the broker is lost. The inner results say why a message stays in the dead-letter queue.
    pub async fn replay(
        &self,
        messages: &[&DeadLetter],
    ) -> Result<Vec<Result<(), String>>, DeadLetterError> {
        let sent = join_all(messages.iter().map(|message| async {
            let Some(target) = message.target() else {
                return Ok((
                    None,
                    Err("it does not name the queue that dead-lettered it".to_owned()),
                ));
            };
            let options = BasicPublishOptions {
                mandatory: true,
                ..BasicPublishOptions::default()
            };
            let publish = self.publish_channel.basic_publish(
                "".into(),
                target.clone(),
                options,
                &message.body,
                message.properties_to_replay(),
            );
            let confirmation = within(async { publish.await?.await }).await?;
            let outcome = if confirmation.is_nack() {
                Err("the queue does not accept it now".to_owned())
            } else {
                Ok(())
            };
            let back = confirmation.take_message();
            let missing = back.map(|back| back.routing_key.to_string());
            Ok::<_, DeadLetterError>((missing, outcome))
        }));
        let sent = sent.await.into_iter().collect::<Result<Vec<_>, _>>()?;
        // The client library attaches a returned message to the next confirm, whichever that is. So no message to a
        // missing queue counts as accepted.
        let missing: Vec<String> = sent.iter().filter_map(|(name, _)| name.clone()).collect();
        let outcomes = messages.iter().zip(sent).map(|(message, (_, outcome))| {
            match message.target().map(ShortString::as_str) {
                Some(target) if missing.iter().any(|queue| queue == target) => {
                    Err(format!("the queue {target} no longer exists"))
                }
                _ => outcome,
            }
        });
        let outcomes: Vec<Result<(), String>> = outcomes.collect();
        let done = messages.iter().zip(&outcomes);
        let done = done.filter(|(_, outcome)| outcome.is_ok());
        self.acknowledge(done.map(|(message, _)| *message)).await?;
        Ok(outcomes)
    }

    /// Deletes messages from the dead-letter queue.
    ///
    /// # Errors
    /// [`DeadLetterError`] when the broker is lost.
    pub async fn discard(&self, messages: &[&DeadLetter]) -> Result<(), DeadLetterError> {
        self.acknowledge(messages.iter().copied()).await
    }

    async fn acknowledge(
        &self,
        messages: impl Iterator<Item = &DeadLetter>,
    ) -> Result<(), DeadLetterError> {
        let mut any = false;
        for message in messages {
            let ack = self
                .channel
                .basic_ack(message.tag, BasicAckOptions::default());
            within(ack).await?;
            any = true;
        }
        if any {
            within(self.channel.tx_commit()).await?;
        }
        Ok(())
    }

    /// Returns the remaining messages to the queue. All acknowledgements are complete when this returns.
    ///
    /// # Errors
    /// [`DeadLetterError`] when the broker is lost.
    pub async fn return_rest(self) -> Result<(), DeadLetterError> {
        within(self.publish_channel.close(200, "done".into())).await?;
        within(self.channel.close(200, "done".into())).await
    }
}

async fn within<T>(step: impl Future<Output = lapin::Result<T>>) -> Result<T, DeadLetterError> {
    match timeout(STEP_TIMEOUT, step).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(DeadLetterError::Unavailable("no answer in time".to_owned())),
    }
}
