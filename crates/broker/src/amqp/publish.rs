use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use event_types::Exchange;
use futures_util::FutureExt;
use futures_util::future::join_all;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Confirmation, Connection, PublisherConfirm};
use tokio::time::timeout;
use uuid::Uuid;

use super::Amqp;
use super::declare::name;
use crate::topology::SUBSCRIBED_KEY;
use crate::{Message, PublishOutcome};

/// How long a batch may take, including the time for which the broker is blocked.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The most idle channels that are kept open.
const MAX_IDLE_CHANNELS: usize = 4;

/// The AMQP delivery mode of messages that are written to disk.
pub(crate) const PERSISTENT: u8 = 2;

/// The confirm of a message, or why there is none.
type ConfirmResult = Result<Confirmation, String>;

impl Amqp {
    /// Publishes a batch on a channel of its own and waits for all its confirms.
    ///
    /// The client library attaches a returned message to the next confirm that it completes. If an ack covers several
    /// tags, that is another message's confirm. So a channel serves one batch at a time, and returned messages are
    /// identified by `message_id` after all confirms. A channel with a missing confirm is closed.
    pub(crate) async fn publish(&self, messages: Vec<Message>) -> Vec<PublishOutcome> {
        // The semaphore is never closed, so this cannot fail.
        let _permit = self.batches.acquire().await;
        let (connection, channel) = match self.acquire_channel().await {
            Ok(open) => open,
            Err(reason) => {
                return messages
                    .iter()
                    .map(|_| PublishOutcome::Unsent(reason.clone()))
                    .collect();
            }
        };
        let confirms = self.publish_all(&channel, &messages).await;
        if confirms.iter().all(Result::is_ok) {
            self.return_channel(channel);
        } else {
            // Without any confirm, the channel was closed (a missing exchange, for example), or the broker is silent
            // and writes pile up. A broker that is short of memory reports that it is blocked.
            if confirms.iter().all(Result::is_err) && !connection.status().blocked() {
                self.publishing.request_replacement(&connection);
            } else {
                self.publishing.suspect();
            }
            self.runtime
                .spawn(async move { channel.close(200, "unanswered".into()).await });
        }
        publish_outcomes(&messages, confirms)
    }

    /// Writes all messages before it waits for the confirms. One timeout covers all.
    async fn publish_all(&self, channel: &Channel, messages: &[Message]) -> Vec<ConfirmResult> {
        let (mut written, mut confirms) = (Vec::new(), Vec::with_capacity(messages.len()));
        let publishing = async {
            // Concurrently, because the client has written a message before its future is ready.
            written = join_all(messages.iter().map(|message| self.write(channel, message))).await;
            for confirm in &mut written {
                confirms.push(confirm_result(confirm).await);
            }
        };
        // A confirm that arrived in time counts, even if an earlier message has none.
        let _ = timeout(PUBLISH_TIMEOUT, publishing).await;
        let late = || Err("no confirm in time".to_owned());
        for confirm in written.iter_mut().skip(confirms.len()) {
            confirms.push(confirm_result(confirm).now_or_never().unwrap_or_else(late));
        }
        confirms.resize_with(messages.len(), late);
        confirms
    }

    async fn write(
        &self,
        channel: &Channel,
        message: &Message,
    ) -> Result<PublisherConfirm, String> {
        let key = ShortString::try_new(message.routing_key.clone())
            .map_err(|_| "the routing key is too long".to_owned())?;
        let mut properties = BasicProperties::default()
            .with_content_type("application/cloudevents+json".into())
            .with_delivery_mode(PERSISTENT)
            .with_message_id(ShortString::from(message.id.to_string()))
            .with_type(key.clone());
        if message.has_subscriber {
            properties = properties.with_headers(bcc_headers(SUBSCRIBED_KEY));
        }
        let options = BasicPublishOptions {
            mandatory: true,
            ..BasicPublishOptions::default()
        };
        let exchange = self.exchange(message.exchange)?;
        channel
            .basic_publish(exchange, key, options, &message.body, properties)
            .await
            .map_err(|error| error.to_string())
    }

    fn exchange(&self, exchange: Exchange) -> Result<ShortString, String> {
        name(&self.prefix, exchange.name())
    }

    /// Returns a channel that nobody else publishes on. Fails while the broker accepts no messages: those written now
    /// would arrive later, in addition to the copies that are published meanwhile.
    async fn acquire_channel(&self) -> Result<(Arc<Connection>, Channel), String> {
        let connection = self.publishing.current().ok_or("not connected")?;
        if connection.status().blocked() {
            return Err("the broker accepts no messages".to_owned());
        }
        loop {
            let idle = self.idle_channels.lock().pop();
            match idle {
                Some(channel) if channel.status().connected() => return Ok((connection, channel)),
                Some(_) => {}
                None => break,
            }
        }
        let opening = async {
            let channel = connection.create_channel().await?;
            channel
                .confirm_select(ConfirmSelectOptions::default())
                .await?;
            Ok::<_, lapin::Error>(channel)
        };
        match timeout(PUBLISH_TIMEOUT, opening).await {
            Ok(Ok(channel)) => Ok((connection, channel)),
            Ok(Err(error)) => {
                self.publishing.suspect();
                Err(error.to_string())
            }
            Err(_) => {
                self.publishing.request_replacement(&connection);
                Err("no channel in time".to_owned())
            }
        }
    }

    fn return_channel(&self, channel: Channel) {
        let mut idle_channels = self.idle_channels.lock();
        if idle_channels.len() < MAX_IDLE_CHANNELS {
            idle_channels.push(channel);
        }
    }
}

/// Returns headers that make RabbitMQ route a message by a second key too. RabbitMQ removes `BCC` before the delivery.
fn bcc_headers(key: &str) -> FieldTable {
    let keys = vec![AMQPValue::LongString(key.into())];
    let mut headers = FieldTable::default();
    headers.insert("BCC".into(), AMQPValue::FieldArray(keys.into()));
    headers
}

async fn confirm_result(written: &mut Result<PublisherConfirm, String>) -> ConfirmResult {
    match written {
        Ok(confirm) => confirm.await.map_err(|error| error.to_string()),
        Err(reason) => Err(reason.clone()),
    }
}

fn publish_outcomes(messages: &[Message], confirms: Vec<ConfirmResult>) -> Vec<PublishOutcome> {
    let mut returned = HashSet::new();
    let mut nacked = HashSet::new();
    let mut failed = std::collections::HashMap::new();
    for (message, result) in messages.iter().zip(confirms) {
        match result {
            Ok(confirmation) => {
                if confirmation.is_nack() {
                    nacked.insert(message.id);
                }
                if let Some(back) = confirmation.take_message() {
                    returned.extend(
                        back.properties
                            .message_id()
                            .as_ref()
                            .and_then(|id| id.as_str().parse::<Uuid>().ok()),
                    );
                }
            }
            Err(reason) => {
                failed.insert(message.id, reason);
            }
        }
    }
    let outcome = |message: &Message| {
        if returned.contains(&message.id) {
            PublishOutcome::Returned
        } else if let Some(reason) = failed.remove(&message.id) {
            PublishOutcome::Unconfirmed(reason)
        } else if nacked.contains(&message.id) {
            PublishOutcome::Nacked
        } else {
            PublishOutcome::Confirmed
        }
    };
    messages.iter().map(outcome).collect()
}
