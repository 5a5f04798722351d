use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{EventData, SessionStarted};

/// A notification about a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
pub struct NotifiedEvent {
    /// The event that the notification reports.
    pub event_id: Uuid,
    /// The type of the event: `session.started.v1`, `session.submitted.v1` or `session.abandoned.v1`.
    pub about: String,
    /// The session.
    pub session_id: Uuid,
}

impl NotifiedEvent {
    /// Describes the event `event_id`, whose type is that of `T`.
    #[must_use]
    pub fn new<T: EventData>(event_id: Uuid, session_id: Uuid) -> Self {
        Self {
            event_id,
            about: T::TYPE.to_owned(),
            session_id,
        }
    }
}

/// The value for events that were published before the field existed: at that time, notifications reported starts only.
fn plan() -> String {
    SessionStarted::TYPE.to_owned()
}

/// The notifications that one message settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notification {
    /// The event that the notification reports.
    pub event_id: Uuid,
    /// The type of the event: `session.started.v1`, `session.submitted.v1` or `session.abandoned.v1`.
    #[serde(default = "plan")]
    pub about: String,
    /// The session.
    pub session_id: Uuid,
    /// The team project; null if the session had none.
    pub project_id: Option<i64>,
    /// When the message was settled.
    pub at: DateTime<Utc>,
    /// The other notifications of the message with the same outcome; at most 99.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<NotifiedEvent>,
}

impl Notification {
    /// Returns all events of the message, with the main one first.
    pub fn events(self) -> impl Iterator<Item = NotifiedEvent> {
        let first = NotifiedEvent {
            event_id: self.event_id,
            about: self.about,
            session_id: self.session_id,
        };
        std::iter::once(first).chain(self.also)
    }
}

/// `notification.delivered.v1`: the chat accepted the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationDelivered {
    /// The delivered notifications.
    #[serde(flatten)]
    pub notification: Notification,
}

/// `notification.failed.v1`: the message could not be delivered, and is not retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationFailed {
    /// The failed notifications.
    #[serde(flatten)]
    pub notification: Notification,
    /// A sentence without the address.
    pub reason: String,
}

/// `notification.skipped.v1`: there was no chat to send the message to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationSkipped {
    /// The skipped notifications.
    #[serde(flatten)]
    pub notification: Notification,
    /// A sentence without the address.
    pub reason: String,
}
