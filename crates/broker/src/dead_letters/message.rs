use chrono::{DateTime, Utc};
use lapin::BasicProperties;
use lapin::message::Delivery as Raw;
use lapin::types::{AMQPValue, FieldArray, FieldTable, ShortString};

use crate::amqp::PERSISTENT;

/// The headers that RabbitMQ adds to a dead letter.
const DEATH_HEADER: &str = "x-death";
const ADDED: [&str; 3] = ["x-death", "x-first-death-", "x-last-death-"];

/// A message in the dead-letter queue.
#[derive(Clone)]
pub struct DeadLetter {
    /// The AMQP message id, if it has one; for an event, the event's id.
    pub id: Option<String>,
    /// The event's type, as its publisher set it.
    pub event_type: String,
    /// The queue that dead-lettered it, without the configured prefix.
    pub queue: Option<String>,
    /// The cause in RabbitMQ's terms: `rejected` or `delivery_limit`.
    pub cause: Option<String>,
    /// When it was dead-lettered, to the second.
    pub dead_lettered_at: Option<DateTime<Utc>>,
    /// The encoded event.
    pub body: Vec<u8>,
    pub(super) tag: u64,
    target: Option<ShortString>,
    properties: BasicProperties,
}

impl std::fmt::Debug for DeadLetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A body contains text that users wrote.
        f.debug_struct("DeadLetter")
            .field("id", &self.id)
            .field("event_type", &self.event_type)
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

impl DeadLetter {
    pub(super) fn from_delivery(raw: Raw, prefix: &str) -> Self {
        let headers = raw.properties.headers().as_ref();
        let death = headers.and_then(latest_death);
        let text = |key: &str| death.and_then(|death| text(death.inner().get(key)?));
        let target = text("queue").and_then(|queue| ShortString::try_new(queue).ok());
        let queue = target.as_ref().map(|queue| {
            let bare = queue.as_str().strip_prefix(prefix);
            bare.unwrap_or(queue.as_str()).to_owned()
        });
        let dead_lettered_at = death.and_then(|death| match death.inner().get("time")? {
            AMQPValue::Timestamp(seconds) => {
                DateTime::from_timestamp(i64::try_from(*seconds).ok()?, 0)
            }
            _ => None,
        });
        let (cause, first_key) = (text("reason"), death.and_then(first_key));
        let kind = raw.properties.kind().as_ref().map(ToString::to_string);
        Self {
            id: raw
                .properties
                .message_id()
                .as_ref()
                .map(ToString::to_string),
            event_type: kind.or(first_key).unwrap_or_default(),
            queue,
            cause,
            dead_lettered_at,
            tag: raw.delivery_tag,
            target,
            properties: raw.properties,
            body: raw.data,
        }
    }

    /// Returns the full name of the queue that dead-lettered it.
    pub(super) fn target(&self) -> Option<&ShortString> {
        self.target.as_ref()
    }

    /// Returns the properties that its publisher set, without RabbitMQ's dead-letter headers.
    pub(super) fn properties_to_replay(&self) -> BasicProperties {
        let old = &self.properties;
        let mut properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
        if let Some(id) = old.message_id() {
            properties = properties.with_message_id(id.clone());
        }
        if let Some(content_type) = old.content_type() {
            properties = properties.with_content_type(content_type.clone());
        }
        if let Ok(kind) = ShortString::try_new(self.event_type.clone()) {
            properties = properties.with_type(kind);
        }
        let mut headers = FieldTable::default();
        for (name, value) in old.headers().iter().flat_map(|headers| headers.inner()) {
            if !ADDED.iter().any(|added| name.as_str().starts_with(added)) {
                headers.insert(name.clone(), value.clone());
            }
        }
        if !headers.inner().is_empty() {
            properties = properties.with_headers(headers);
        }
        properties
    }
}

/// Returns the latest entry of `x-death`, which RabbitMQ puts first.
fn latest_death(headers: &FieldTable) -> Option<&FieldTable> {
    match headers.inner().get(DEATH_HEADER)? {
        AMQPValue::FieldArray(deaths) => first(deaths).and_then(|death| match death {
            AMQPValue::FieldTable(death) => Some(death),
            _ => None,
        }),
        _ => None,
    }
}

fn first_key(death: &FieldTable) -> Option<String> {
    match death.inner().get("routing-keys")? {
        AMQPValue::FieldArray(keys) => first(keys).and_then(text),
        _ => None,
    }
}

fn first(array: &FieldArray) -> Option<&AMQPValue> {
    array.as_slice().first()
}

fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}
