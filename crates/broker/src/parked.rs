//! What lies in the parking queue: looked at, sent back to where it came from, or dropped.
//!
//! Messages are taken in hand without being acknowledged, so that whatever happens to the program that
//! looks at them they are in the queue again afterwards.

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
use crate::topology::PARKED_QUEUE;
pub use message::ParkedMessage;

/// How long the broker may take for one step.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the next message may take when the queue said that there is one. Less than all means that
/// another program has it in hand.
const IDLE: Duration = Duration::from_secs(2);

/// AMQP's code for what is not there.
const NOT_FOUND: u16 = 404;

/// Why the parking queue cannot be looked into.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParkedError {
    /// Not RabbitMQ: inside one process nothing is parked on the broker.
    #[error("the broker in memory has no parking queue")]
    NoBroker,
    /// It is away, refuses us, or went away meanwhile.
    #[error("the broker does not answer: {0}")]
    Away(String),
    /// Nobody has declared it.
    #[error("there is no queue {0} on the broker")]
    NoQueue(String),
}

impl From<lapin::Error> for ParkedError {
    fn from(error: lapin::Error) -> Self {
        Self::Away(error.to_string())
    }
}

/// The parking queue on RabbitMQ, over a connection of its own.
#[derive(Debug)]
pub struct ParkedQueue {
    connection: Connection,
    prefix: Arc<str>,
    name: ShortString,
}

impl ParkedQueue {
    /// Connects; declares nothing. `prefix` stands before every name, `app_name` names the connection.
    ///
    /// # Errors
    /// [`ParkedError`].
    pub async fn connect(
        url: &BrokerUrl,
        prefix: &str,
        app_name: &str,
    ) -> Result<Self, ParkedError> {
        let uri = url.amqp().ok_or(ParkedError::NoBroker)?;
        let name = crate::amqp::name(prefix, PARKED_QUEUE).map_err(ParkedError::Away)?;
        let properties = ConnectionProperties::default().with_connection_name(app_name.into());
        let connection = within(Connection::connect_uri(uri, properties)).await?;
        Ok(Self {
            connection,
            prefix: prefix.into(),
            name,
        })
    }

    /// How many messages are parked and in nobody's hand.
    ///
    /// # Errors
    /// [`ParkedError`].
    pub async fn count(&self) -> Result<u32, ParkedError> {
        let channel = within(self.connection.create_channel()).await?;
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let asked = channel.queue_declare(self.name.clone(), options, FieldTable::default());
        let queue = match timeout(PATIENCE, asked).await {
            Ok(answer) => answer.map_err(|error| match error.kind() {
                ErrorKind::ProtocolError(told) if told.get_id() == NOT_FOUND => {
                    ParkedError::NoQueue(self.name.to_string())
                }
                _ => error.into(),
            })?,
            Err(_) => return Err(ParkedError::Away("no answer in time".to_owned())),
        };
        within(channel.close(200, "done".into())).await?;
        Ok(queue.message_count())
    }

    /// Begins to take messages in hand, the first parked first.
    ///
    /// # Errors
    /// [`ParkedError`].
    pub async fn take(&self) -> Result<InHand, ParkedError> {
        let (channel, lane) = (
            within(self.connection.create_channel()).await?,
            within(self.connection.create_channel()).await?,
        );
        within(channel.tx_select()).await?;
        within(lane.confirm_select(ConfirmSelectOptions::default())).await?;
        Ok(InHand {
            channel,
            lane,
            prefix: Arc::clone(&self.prefix),
            name: self.name.clone(),
        })
    }

    /// Says goodbye to the broker.
    pub async fn close(self) {
        // It notices anyway that we are gone.
        let _ = within(self.connection.close(200, "done".into())).await;
    }
}

/// Parked messages in hand. What is neither sent back nor dropped lies in the queue again, in its order,
/// once this is put down or its process ends.
#[derive(Debug)]
pub struct InHand {
    /// Messages are in the hand of this one, which acknowledges in transactions: a quorum queue is told of
    /// a transaction's acknowledgements at once, while a channel that closes forgets single ones that the
    /// queue had no time for yet.
    channel: Channel,
    /// Publishes, with confirms, which do not go together with transactions.
    lane: Channel,
    prefix: Arc<str>,
    name: ShortString,
}

impl InHand {
    /// The next `limit` messages, or fewer when there are no more for us. Ask for no more than
    /// [`ParkedQueue::count`] said: what is parked meanwhile, such as a message that was sent back and
    /// is still unreadable, would come too.
    ///
    /// # Errors
    /// [`ParkedError`].
    pub async fn next(&mut self, limit: u16) -> Result<Vec<ParkedMessage>, ParkedError> {
        let mut messages = Vec::new();
        if limit == 0 {
            return Ok(messages);
        }
        // A consumer is sent no more than it may have in hand, and this one no more than `limit` at all.
        within(self.channel.basic_qos(limit, BasicQosOptions::default())).await?;
        let begun = self.channel.basic_consume(
            self.name.clone(),
            "".into(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        let mut consumer = within(begun).await?;
        while messages.len() < usize::from(limit) {
            match timeout(IDLE, consumer.next()).await {
                Ok(Some(raw)) => messages.push(ParkedMessage::of(raw?, &self.prefix)),
                Ok(None) => return Err(ParkedError::Away("the consumer was ended".to_owned())),
                Err(_) => break,
            }
        }
        let ended = self
            .channel
            .basic_cancel(consumer.tag(), BasicCancelOptions::default());
        within(ended).await?;
        Ok(messages)
    }

    /// Publishes messages to the very queues that parked them, and takes each out of the parking queue
    /// once it is confirmed there. A crash in between leaves a copy, which the consumer's inbox drops.
    ///
    /// # Errors
    /// [`ParkedError`] when the broker goes away; of each message otherwise why it stays parked.
    pub async fn send_back(
        &self,
        messages: &[&ParkedMessage],
    ) -> Result<Vec<Result<(), String>>, ParkedError> {
        let sent = join_all(messages.iter().map(|message| async {
            let Some(target) = message.target() else {
                return Ok((
                    None,
                    Err("it does not say which queue parked it".to_owned()),
                ));
            };
            let options = BasicPublishOptions {
                mandatory: true,
                ..BasicPublishOptions::default()
            };
            let publish = self.lane.basic_publish(
                "".into(),
                target.clone(),
                options,
                &message.body,
                message.fresh_properties(),
            );
            let confirmation = within(async { publish.await?.await }).await?;
            let outcome = if confirmation.is_nack() {
                Err("the queue does not take it now".to_owned())
            } else {
                Ok(())
            };
            let back = confirmation.take_message();
            let gone = back.map(|back| back.routing_key.to_string());
            Ok::<_, ParkedError>((gone, outcome))
        }));
        let sent = sent.await.into_iter().collect::<Result<Vec<_>, _>>()?;
        // The client library hangs a returned message on whichever confirm comes next, so that of a queue
        // that is gone nothing counts as taken.
        let gone: Vec<String> = sent.iter().filter_map(|(gone, _)| gone.clone()).collect();
        let outcomes = messages.iter().zip(sent).map(|(message, (_, outcome))| {
            match message.target().map(ShortString::as_str) {
                Some(target) if gone.iter().any(|queue| queue == target) => {
                    Err(format!("there is no queue {target} any more"))
                }
                _ => outcome,
            }
        });
        let outcomes: Vec<Result<(), String>> = outcomes.collect();
        let taken = messages.iter().zip(&outcomes);
        let taken = taken.filter(|(_, outcome)| outcome.is_ok());
        self.settle(taken.map(|(message, _)| *message)).await?;
        Ok(outcomes)
    }

    /// Takes messages out of the parking queue for good.
    ///
    /// # Errors
    /// [`ParkedError`] when the broker goes away.
    pub async fn discard(&self, messages: &[&ParkedMessage]) -> Result<(), ParkedError> {
        self.settle(messages.iter().copied()).await
    }

    async fn settle(
        &self,
        messages: impl Iterator<Item = &ParkedMessage>,
    ) -> Result<(), ParkedError> {
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

    /// Puts down what is still in hand. What was settled is settled when this returns.
    ///
    /// # Errors
    /// [`ParkedError`] when the broker goes away.
    pub async fn put_down(self) -> Result<(), ParkedError> {
        within(self.lane.close(200, "done".into())).await?;
        within(self.channel.close(200, "done".into())).await
    }
}

async fn within<T>(step: impl Future<Output = lapin::Result<T>>) -> Result<T, ParkedError> {
    match timeout(PATIENCE, step).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(ParkedError::Away("no answer in time".to_owned())),
    }
}
