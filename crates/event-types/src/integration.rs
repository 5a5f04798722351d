use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ChatProvider;

/// `integration.configured.v1`: the destination of a project's notifications. Private; the address is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationConfigured {
    /// The team project.
    pub project_id: i64,
    /// Increases with each change of a project's destination; the highest revision applies.
    pub revision: i64,
    /// The sealed destination; null when it is paused or was removed.
    pub sealed: Option<String>,
    /// Whether the destination of this revision is paused. Its notifications are skipped.
    #[serde(default)]
    pub paused: bool,
}

impl IntegrationConfigured {
    /// Returns the sealing context, which binds a sealed destination to its project and revision.
    #[must_use]
    pub fn seal_context(project_id: i64, revision: i64) -> String {
        format!("integration/{project_id}/{revision}")
    }
}

/// The JSON inside `sealed`: where and how a project's notifications are posted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatDestination {
    /// The chat that receives the messages.
    pub provider: ChatProvider,
    /// The address in that chat.
    #[serde(flatten)]
    pub address: ChatAddress,
}

/// The address at which a chat takes messages.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ChatAddress {
    /// The URL of an incoming webhook, as most chats have it.
    Hook {
        /// The whole URL is a secret.
        webhook_url: String,
    },
    /// A room of Matrix.
    Room {
        /// The address of the homeserver, as Matrix clients use it.
        homeserver_url: String,
        /// The id of the room, such as `!abc:example.org`.
        room_id: String,
        /// The access token of the posting user: a secret.
        access_token: String,
    },
}

impl std::fmt::Debug for ChatDestination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatDestination")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ChatAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hook { .. } => "Hook(..)",
            Self::Room { .. } => "Room(..)",
        })
    }
}

/// `integration.disabled.v1`: a chat permanently refuses messages, and was disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntegrationDisabled {
    /// The team project.
    pub project_id: i64,
    /// The revision of the destination that was disabled. A newer one stays active.
    pub revision: i64,
    /// A sentence for the owner, without the address.
    pub reason: String,
}

/// `chat.test_requested.v1`: somebody requested a test message to a project's chat. Private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatTestRequested {
    /// The unique id of the test.
    pub test_id: Uuid,
    /// The team project.
    pub project_id: i64,
    /// The name of the project.
    pub project_name: String,
    /// The revision of the destination to test. An older one is not used.
    pub revision: i64,
    /// The username of the account that requested the test.
    pub requested_by: String,
    /// The channel's name that users see.
    #[serde(default)]
    pub channel: String,
}

/// `chat.tested.v1`: the result of a test message to a project's chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChatTested {
    /// The id of the test.
    pub test_id: Uuid,
    /// The team project.
    pub project_id: i64,
    /// `delivered`, `failed` or `skipped`.
    pub outcome: String,
    /// A sentence without the address; null when the message was delivered.
    pub reason: Option<String>,
    /// When the result was known.
    pub at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_destination_of_either_kind_decodes_and_prints_no_secret() {
        for (json, shape) in [
            (
                r#"{"provider":"slack","webhook_url":"https://h.example/secret"}"#,
                "Hook(..)",
            ),
            (
                r#"{"provider":"matrix","homeserver_url":"https://secret.example","room_id":"!secret:m","access_token":"secret"}"#,
                "Room(..)",
            ),
        ] {
            let read: ChatDestination = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            assert_eq!(format!("{:?}", read.address), shape);
            assert!(!format!("{read:?}").contains("secret"));
        }
        for unreadable in [
            r#"{"provider":"slack","room_id":"!a:b"}"#,
            r#"{"provider":"pager","webhook_url":"https://h.example/x"}"#,
        ] {
            assert!(serde_json::from_str::<ChatDestination>(unreadable).is_err());
        }
    }

    #[test]
    fn a_chat_test_event_without_a_channel_still_decodes() {
        let before = r#"{"test_id":"00000000-0000-0000-0000-000000000000","project_id":3,"project_name":"A","revision":1,"requested_by":"ada"}"#;
        let read: ChatTestRequested = serde_json::from_str(before).unwrap();
        assert_eq!(read.channel, "");
    }
}
