use event_types::Exchange;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use lapin::{Connection, ErrorKind, ExchangeKind};

use super::name;
use super::unfit::unfit;
use crate::topology::{DEAD_LETTER_EXCHANGE, PARKED_QUEUE, Queue};

/// AMQP's code for what exists and is not as it was asked for.
const PRECONDITION_FAILED: u16 = 406;

/// Why the topology does not stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The broker is away or says no for now.
    Away(String),
    /// Something of that name exists and is another thing: a person has to decide.
    Unfit(String),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Away(reason)
    }
}

/// Deliveries after which a message that its consumer cannot survive is parked.
const DELIVERY_LIMIT: i64 = 10;

/// Never reached: parked messages are looked at again and again, and have nowhere else to go.
const PARKED_DELIVERY_LIMIT: i64 = 1_000_000;

/// Declares everything, again and again: whoever comes first makes it. Every argument is explicit,
/// because the defaults differ between RabbitMQ 3.10 and 4.
pub(super) async fn declare(connection: &Connection, prefix: &str) -> Result<(), Trouble> {
    let channel = connection
        .create_channel()
        .await
        .map_err(|error| error.to_string())?;
    let failed = |what: &str| {
        let what = format!("declaring {prefix}{what}");
        move |error: lapin::Error| refused(&what, &error)
    };
    let exchanges = [
        (Exchange::Public.name(), ExchangeKind::Topic),
        (Exchange::Private.name(), ExchangeKind::Direct),
        (DEAD_LETTER_EXCHANGE, ExchangeKind::Fanout),
    ];
    for (exchange, kind) in exchanges {
        let options = ExchangeDeclareOptions {
            durable: true,
            ..ExchangeDeclareOptions::default()
        };
        channel
            .exchange_declare(
                name(prefix, exchange)?,
                kind,
                options,
                FieldTable::default(),
            )
            .await
            .map_err(failed(exchange))?;
    }

    let parked = name(prefix, PARKED_QUEUE)?;
    let mut arguments = quorum();
    arguments.insert(
        "x-delivery-limit".into(),
        AMQPValue::LongLongInt(PARKED_DELIVERY_LIMIT),
    );
    channel
        .queue_declare(parked.clone(), QueueDeclareOptions::durable(), arguments)
        .await
        .map_err(failed(PARKED_QUEUE))?;
    bind(&channel, &parked, name(prefix, DEAD_LETTER_EXCHANGE)?, "")
        .await
        .map_err(failed(PARKED_QUEUE))?;

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
        // A dead letter leaves its queue only when the parking queue has confirmed it.
        arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
        let own = name(prefix, queue.name())?;
        channel
            .queue_declare(own.clone(), QueueDeclareOptions::durable(), arguments)
            .await
            .map_err(failed(queue.name()))?;
        for &(exchange, key) in queue.bindings() {
            bind(&channel, &own, name(prefix, exchange.name())?, key)
                .await
                .map_err(failed(queue.name()))?;
        }
    }
    channel
        .close(200, "done".into())
        .await
        .map_err(|error| error.to_string().into())
}

fn refused(what: &str, error: &lapin::Error) -> Trouble {
    match error.kind() {
        ErrorKind::ProtocolError(told) if told.get_id() == PRECONDITION_FAILED => {
            Trouble::Unfit(unfit(what, told.get_message().as_str()))
        }
        _ => Trouble::Away(format!("{what}: {error}")),
    }
}

fn quorum() -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text("quorum"));
    // At-least-once dead-lettering asks for it; there is no length limit that could bring it into play.
    arguments.insert("x-overflow".into(), text("reject-publish"));
    arguments
}

fn text(value: impl Into<String>) -> AMQPValue {
    AMQPValue::LongString(LongString::from(value.into()))
}

async fn bind(
    channel: &lapin::Channel,
    queue: &ShortString,
    exchange: ShortString,
    key: &'static str,
) -> lapin::Result<()> {
    channel
        .queue_bind(
            queue.clone(),
            exchange,
            key.into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        )
        .await
}
