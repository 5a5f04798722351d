use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{EventData, Exchange, SessionStarted};

/// What notifications were about before they said so.
fn plan() -> String {
    SessionStarted::TYPE.to_owned()
}

macro_rules! notification {
    ($(#[$meta:meta])* $name:ident, $event_type:literal $(, $(#[$field_meta:meta])* $field:ident)?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $name {
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
            $($(#[$field_meta])* pub $field: String,)?
        }

        impl EventData for $name {
            const TYPE: &'static str = $event_type;
            const EXCHANGE: Exchange = Exchange::Public;

            fn subject(&self) -> String {
                format!("session/{}", self.session_id)
            }
        }
    };
}

notification! {
    /// `notification.delivered.v1`: the chat took the message.
    NotificationDelivered, "notification.delivered.v1"
}

notification! {
    /// `notification.failed.v1`: given up for good.
    NotificationFailed, "notification.failed.v1",
    /// A sentence without the address.
    reason
}

notification! {
    /// `notification.skipped.v1`: there was nobody to tell.
    NotificationSkipped, "notification.skipped.v1",
    /// A sentence without the address.
    reason
}
