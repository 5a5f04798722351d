use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;
use uuid::Uuid;

/// The longest event body, in bytes; longer ones are neither made nor read.
pub const MAX_EVENT_BYTES: usize = 64 * 1024;

/// Where an event is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// `work.events`, a topic exchange: facts that anybody may subscribe to. Never carries a secret.
    Public,
    /// `work.private`, a direct exchange: between our own parts. Secrets travel sealed.
    Private,
}

impl Exchange {
    /// The exchange's name, before any configured prefix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Public => "work.events",
            Self::Private => "work.private",
        }
    }

    /// The exchange with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Public, Self::Private]
            .into_iter()
            .find(|exchange| exchange.name() == name)
    }
}

/// The data of one kind of event.
pub trait EventData: Serialize + DeserializeOwned {
    /// The CloudEvents `type` and the routing key, with its version: `session.started.v1`.
    const TYPE: &'static str;
    /// Where it is published.
    const EXCHANGE: Exchange;

    /// What the event is about, such as `session/<id>`; CloudEvents `subject`.
    fn subject(&self) -> String;
}

/// Why a message is no event of ours.
#[derive(Debug, Error)]
pub enum EventError {
    /// The body is over [`MAX_EVENT_BYTES`].
    #[error("the event is {0} bytes long, more than the {MAX_EVENT_BYTES} allowed")]
    TooLong(usize),
    /// The body is not the JSON that was expected.
    #[error("the event does not decode: {0}")]
    Json(#[from] serde_json::Error),
    /// The envelope is of another CloudEvents version.
    #[error("CloudEvents version {0:?} is not 1.0")]
    SpecVersion(String),
    /// The data of one type was asked of an event of another.
    #[error("the event is a {found}, not a {wanted}")]
    OtherType {
        /// The event's own type.
        found: String,
        /// The type that was asked for.
        wanted: &'static str,
    },
}

/// A CloudEvents 1.0 envelope in structured JSON (`application/cloudevents+json`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Always `1.0`.
    pub specversion: String,
    /// UUIDv7; the AMQP `message_id` as well.
    pub id: Uuid,
    /// The part that tells it, such as `worksession-service`.
    pub source: String,
    /// The kind and version of the data; the routing key as well.
    #[serde(rename = "type")]
    pub event_type: String,
    /// What it is about.
    pub subject: String,
    /// When it happened.
    pub time: DateTime<Utc>,
    /// Always `application/json`.
    pub datacontenttype: String,
    /// The request that led to it (extension attribute).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requestid: Option<String>,
    /// The event itself.
    pub data: Data,
}

/// What an event says, as the JSON text that it came in: read by who wants it, kept and passed on as it is.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Data(Box<RawValue>);

impl Data {
    /// Writes `data` as JSON.
    ///
    /// # Errors
    /// When it does not serialise.
    pub fn of<T: Serialize + ?Sized>(data: &T) -> serde_json::Result<Self> {
        to_raw_value(data).map(Self)
    }

    /// Reads it as whatever is wanted.
    ///
    /// # Errors
    /// When it is something else.
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> serde_json::Result<T> {
        serde_json::from_str(self.as_str())
    }

    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Display for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Event {
    /// Wraps `data` as it happened at `time` in the part `source`.
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
            data: Data::of(data)?,
        })
    }

    /// The body as it is published.
    ///
    /// # Errors
    /// [`EventError::TooLong`] over [`MAX_EVENT_BYTES`].
    pub fn encode(&self) -> Result<String, EventError> {
        let body = serde_json::to_string(self)?;
        if body.len() > MAX_EVENT_BYTES {
            return Err(EventError::TooLong(body.len()));
        }
        Ok(body)
    }

    /// Reads a published body.
    ///
    /// # Errors
    /// [`EventError`] for what is too long, no JSON, or no CloudEvents 1.0.
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

    /// The data, when the event is of that type.
    ///
    /// # Errors
    /// [`EventError::OtherType`] for another type, [`EventError::Json`] when the data does not fit it.
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
