use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{EventData, SessionStarted};

/// Something that a chat was to be told of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
pub struct Notice {
    /// The event that was to be told.
    pub event_id: Uuid,
    /// Its type: `session.started.v1`, `session.submitted.v1` or `session.abandoned.v1`.
    pub about: String,
    /// The session it was about.
    pub session_id: Uuid,
}

impl Notice {
    /// Of the event `event_id`, of the type `T`.
    #[must_use]
    pub fn of<T: EventData>(event_id: Uuid, session_id: Uuid) -> Self {
        Self {
            event_id,
            about: T::TYPE.to_owned(),
            session_id,
        }
    }
}

/// What notifications were about before they said so.
fn plan() -> String {
    SessionStarted::TYPE.to_owned()
}

/// The notices that one message settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Notification {
    /// The event that was to be told.
    pub event_id: Uuid,
    /// Its type: `session.started.v1`, `session.submitted.v1` or `session.abandoned.v1`.
    #[serde(default = "plan")]
    pub about: String,
    /// The session it was about.
    pub session_id: Uuid,
    /// The team project, if it was one.
    pub project_id: Option<i64>,
    /// When it was settled.
    pub at: DateTime<Utc>,
    /// What came to the same end with it, as in a message that told of several; 99 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Notice>,
}

impl Notification {
    /// What it tells of: the notice it is named after, and those that came to the same end.
    pub fn notices(self) -> impl Iterator<Item = Notice> {
        let first = Notice {
            event_id: self.event_id,
            about: self.about,
            session_id: self.session_id,
        };
        std::iter::once(first).chain(self.also)
    }
}

/// `notification.delivered.v1`: the chat took the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationDelivered {
    /// What was delivered.
    #[serde(flatten)]
    pub notification: Notification,
}

/// `notification.failed.v1`: given up for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationFailed {
    /// What could not be delivered.
    #[serde(flatten)]
    pub notification: Notification,
    /// A sentence without the address.
    pub reason: String,
}

/// `notification.skipped.v1`: there was nobody to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotificationSkipped {
    /// What was not sent.
    #[serde(flatten)]
    pub notification: Notification,
    /// A sentence without the address.
    pub reason: String,
}
