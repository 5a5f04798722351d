use event_types::Exchange;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use lapin::{Channel, Connection, ErrorKind, ExchangeKind};

use super::argument_mismatch::describe_mismatch;
use crate::topology::{DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE, Queue};

/// The AMQP reply code for an object that exists with other properties.
const PRECONDITION_FAILED: u16 = 406;

/// The AMQP reply code for a missing permission.
const ACCESS_REFUSED: u16 = 403;

/// Why the topology could not be declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TopologyError {
    /// The broker is unavailable or refuses for now.
    Unavailable(String),
    /// An object of that name exists with other properties. An operator has to decide.
    Mismatch(String),
}

impl From<String> for TopologyError {
    fn from(reason: String) -> Self {
        Self::Unavailable(reason)
    }
}

/// The number of deliveries after which a message that crashes its consumer becomes a dead letter.
const DELIVERY_LIMIT: i64 = 10;

/// High enough never to be reached: dead letters are received again and again, and have no other queue to go to.
const DEAD_LETTER_DELIVERY_LIMIT: i64 = 1_000_000;

/// Declares the topology. Each connection of each service does this, and the first one creates it. Every argument is
/// explicit, because the defaults differ between RabbitMQ 3.10 and 4.
///
/// What this user may not declare must exist; its owner declares it (`deploy/rabbitmq/definitions.json`). Nothing is
/// published until then, because an event that reaches only some of its queues is lost for the others.
pub(super) async fn declare(connection: &Connection, prefix: &str) -> Result<(), TopologyError> {
    let mut topology = TopologyPass {
        connection,
        channel: connection.create_channel().await.map_err(error_text)?,
        prefix,
    };
    for (exchange, kind) in [
        (Exchange::Public.name(), ExchangeKind::Topic),
        (Exchange::Private.name(), ExchangeKind::Direct),
        (DEAD_LETTER_EXCHANGE, ExchangeKind::Fanout),
    ] {
        topology.exchange(exchange, kind).await?;
    }

    let mut arguments = quorum();
    arguments.insert(
        "x-delivery-limit".into(),
        AMQPValue::LongLongInt(DEAD_LETTER_DELIVERY_LIMIT),
    );
    let bindings = vec![(DEAD_LETTER_EXCHANGE, "")];
    topology
        .queue(DEAD_LETTER_QUEUE, arguments, bindings)
        .await?;

    for queue in Queue::ALL {
        let mut arguments = quorum();
        arguments.insert(
            "x-delivery-limit".into(),
            AMQPValue::LongLongInt(DELIVERY_LIMIT),
        );
        arguments.insert(
            "x-dead-letter-exchange".into(),
            text(format!("{prefix}{DEAD_LETTER_EXCHANGE}")),
        );
        // A dead letter leaves its queue only when the dead-letter queue has confirmed it.
        arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
        let named = |&(exchange, key): &(Exchange, _)| (exchange.name(), key);
        let bindings = queue.bindings().iter().map(named).collect();
        topology.queue(queue.name(), arguments, bindings).await?;
    }
    let closed = topology.channel.close(200, "done".into()).await;
    closed.map_err(|error| error_text(error).into())
}

/// One pass over the topology.
struct TopologyPass<'a> {
    connection: &'a Connection,
    channel: Channel,
    prefix: &'a str,
}

impl TopologyPass<'_> {
    async fn exchange(&mut self, exchange: &str, kind: ExchangeKind) -> Result<(), TopologyError> {
        let full = name(self.prefix, exchange)?;
        let mut options = ExchangeDeclareOptions {
            durable: true,
            ..ExchangeDeclareOptions::default()
        };
        let none = FieldTable::default;
        let declared = self
            .channel
            .exchange_declare(full.clone(), kind.clone(), options, none());
        match declared.await {
            Err(error) if is_reply(&error, ACCESS_REFUSED) => {
                self.channel = self.connection.create_channel().await.map_err(error_text)?;
                options.passive = true;
                let checked = self.channel.exchange_declare(full, kind, options, none());
                checked
                    .await
                    .map_err(|error| self.missing(exchange, &error))
            }
            declared => declared.map_err(|error| self.refused(exchange, &error)),
        }
    }

    /// Declares and binds a queue. If this user may not declare it, checks only that it exists.
    async fn queue(
        &mut self,
        queue: &str,
        arguments: FieldTable,
        bindings: Vec<(&'static str, &'static str)>,
    ) -> Result<(), TopologyError> {
        let full = name(self.prefix, queue)?;
        let durable = QueueDeclareOptions::durable();
        let declared = self.channel.queue_declare(full.clone(), durable, arguments);
        match declared.await {
            Err(error) if is_reply(&error, ACCESS_REFUSED) => {
                self.channel = self.connection.create_channel().await.map_err(error_text)?;
                let passive = QueueDeclareOptions {
                    passive: true,
                    ..durable
                };
                let none = FieldTable::default();
                let checked = self.channel.queue_declare(full, passive, none).await;
                return match checked {
                    Ok(_) => Ok(()),
                    Err(error) => Err(self.missing(queue, &error)),
                };
            }
            declared => declared.map_err(|error| self.refused(queue, &error))?,
        };
        for (exchange, key) in bindings {
            let bound = self.channel.queue_bind(
                full.clone(),
                name(self.prefix, exchange)?,
                key.into(),
                QueueBindOptions::default(),
                FieldTable::default(),
            );
            bound.await.map_err(|error| self.refused(queue, &error))?;
        }
        Ok(())
    }

    fn refused(&self, object: &str, error: &lapin::Error) -> TopologyError {
        let action = format!("declaring {}{object}", self.prefix);
        match error.kind() {
            ErrorKind::ProtocolError(reply) if is_reply(error, PRECONDITION_FAILED) => {
                TopologyError::Mismatch(describe_mismatch(&action, reply.get_message().as_str()))
            }
            _ => TopologyError::Unavailable(format!("{action}: {error}")),
        }
    }

    fn missing(&self, object: &str, error: &lapin::Error) -> TopologyError {
        TopologyError::Unavailable(format!(
            "{}{object} does not exist yet, and this user may not declare it: {error}",
            self.prefix
        ))
    }
}

fn is_reply(error: &lapin::Error, code: u16) -> bool {
    matches!(error.kind(), ErrorKind::ProtocolError(reply) if reply.get_id() == code)
}

fn error_text(error: lapin::Error) -> String {
    error.to_string()
}

fn quorum() -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text("quorum"));
    // At-least-once dead-lettering requires it. There is no length limit, so it has no other effect.
    arguments.insert("x-overflow".into(), text("reject-publish"));
    arguments
}

fn text(value: impl Into<String>) -> AMQPValue {
    AMQPValue::LongString(LongString::from(value.into()))
}

/// Returns the name of an exchange or queue with the configured prefix.
pub(crate) fn name(prefix: &str, name: &str) -> Result<ShortString, String> {
    ShortString::try_new(format!("{prefix}{name}"))
        .map_err(|_| format!("the name {name} with its prefix is too long"))
}
