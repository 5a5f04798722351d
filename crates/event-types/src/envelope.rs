use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;
use uuid::Uuid;

/// The longest event body, in bytes. A longer one is neither encoded nor decoded.
pub const MAX_EVENT_BYTES: usize = 64 * 1024;

/// The RabbitMQ exchange that an event is published to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// `work.events`, a topic exchange for events that any program may subscribe to. It never carries a secret.
    Public,
    /// `work.private`, a direct exchange between Holdfast's own parts. Secrets are sealed.
    Private,
}

impl Exchange {
    /// Returns the name of the exchange, without a configured prefix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "work.events",
            Self::Private => "work.private",
        }
    }

    /// Returns the exchange with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Public, Self::Private]
            .into_iter()
            .find(|exchange| exchange.name() == name)
    }
}

/// The data of one type of event.
pub trait EventData: Serialize + DeserializeOwned {
    /// The CloudEvents `type` with its version, such as `session.started.v1`. It is also the routing key.
    const TYPE: &'static str;
    /// The exchange that the event is published to.
    const EXCHANGE: Exchange;

    /// Returns the CloudEvents `subject`, such as `session/<id>`.
    fn subject(&self) -> String;
}

/// Why a message cannot be used as an event.
#[derive(Debug, Error)]
pub enum EventError {
    /// The body is longer than [`MAX_EVENT_BYTES`].
    #[error("the event is {0} bytes long, more than the {MAX_EVENT_BYTES} allowed")]
    TooLong(usize),
    /// The body is not valid JSON, or does not fit the type.
    #[error("the event does not decode: {0}")]
    Json(#[from] serde_json::Error),
    /// The envelope has another CloudEvents version.
    #[error("CloudEvents version {0:?} is not 1.0")]
    SpecVersion(String),
    /// The event has another type than the requested data.
    #[error("the event is a {found}, not a {wanted}")]
    OtherType {
        /// The type of the event.
        found: String,
        /// The requested type.
        wanted: &'static str,
    },
}

/// A CloudEvents 1.0 envelope in structured JSON (`application/cloudevents+json`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Always `1.0`.
    pub specversion: String,
    /// UUIDv7; also the AMQP `message_id`.
    pub id: Uuid,
    /// The service that publishes the event, such as `worksession-service`.
    pub source: String,
    /// The type and version of the data; also the routing key.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The object that the event reports on, such as `session/<id>`.
    pub subject: String,
    /// When the event happened.
    pub time: DateTime<Utc>,
    /// Always `application/json`.
    pub datacontenttype: String,
    /// The id of the request that caused the event (extension attribute).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requestid: Option<String>,
    /// The data of the event.
    pub data: RawEventData,
}

/// The data of an event as JSON text. It is parsed on demand, and forwarded byte for byte.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawEventData(Box<RawValue>);

impl RawEventData {
    /// Serialises `data` as JSON.
    ///
    /// # Errors
    /// When `data` does not serialise.
    pub fn from_value<T: Serialize + ?Sized>(data: &T) -> serde_json::Result<Self> {
        to_raw_value(data).map(Self)
    }

    /// Parses the JSON as a `T`.
    ///
    /// # Errors
    /// When the JSON does not fit `T`.
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> serde_json::Result<T> {
        serde_json::from_str(self.as_str())
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RawEventData {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl std::fmt::Debug for RawEventData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for RawEventData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Event {
    /// Wraps `data` in an envelope. `time` is when the event happened, `source` the service that publishes it.
    ///
    /// # Errors
    /// [`EventError::Json`] when the data does not serialise.
    pub fn new<T: EventData>(
        id: Uuid,
        source: &str,
        time: DateTime<Utc>,
        requestid: Option<String>,
        data: &T,
    ) -> Result<Self, EventError> {
        Ok(Self {
            specversion: "1.0".to_owned(),
            id,
            source: source.to_owned(),
            event_type: T::TYPE.to_owned(),
            subject: data.subject(),
            time,
            datacontenttype: "application/json".to_owned(),
            requestid,
            data: RawEventData::from_value(data)?,
        })
    }

    /// Encodes the event as a message body.
    ///
    /// # Errors
    /// [`EventError::TooLong`] over [`MAX_EVENT_BYTES`]; [`EventError::Json`] when the event does not serialise.
    pub fn encode(&self) -> Result<String, EventError> {
        let body = serde_json::to_string(self)?;
        if body.len() > MAX_EVENT_BYTES {
            return Err(EventError::TooLong(body.len()));
        }
        Ok(body)
    }

    /// Decodes a message body.
    ///
    /// # Errors
    /// [`EventError`] for a body that is too long, not an event in JSON, or not CloudEvents 1.0.
    pub fn decode(body: &[u8]) -> Result<Self, EventError> {
        if body.len() > MAX_EVENT_BYTES {
            return Err(EventError::TooLong(body.len()));
        }
        let event: Self = serde_json::from_slice(body)?;
        if event.specversion != "1.0" {
            return Err(EventError::SpecVersion(event.specversion));
        }
        Ok(event)
    }

    /// Returns the data as a `T`.
    ///
    /// # Errors
    /// [`EventError::OtherType`] when the event has another type, [`EventError::Json`] when the data does not fit `T`.
    pub fn data_as<T: EventData>(&self) -> Result<T, EventError> {
        if self.event_type != T::TYPE {
            return Err(EventError::OtherType {
                found: self.event_type.clone(),
                wanted: T::TYPE,
            });
        }
        Ok(self.data.read()?)
    }
}
