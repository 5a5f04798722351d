use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::ChatProvider;

/// `integration.configured.v1`: where a project's notifications go from now on. Private; the address is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationConfigured {
    /// The team project.
    pub project_id: i64,
    /// Counts up with each change of a project's destination; the highest one holds.
    pub revision: i64,
    /// The sealed destination; null when it is paused or was taken away.
    pub sealed: Option<String>,
    /// The destination of this revision is paused: its notifications are skipped.
    #[serde(default)]
    pub paused: bool,
}

impl IntegrationConfigured {
    /// What a sealed destination is bound to, so that one project's cannot be passed off as another's.
    #[must_use]
    pub fn seal_context(project_id: i64, revision: i64) -> String {
        format!("integration/{project_id}/{revision}")
    }
}

/// What `sealed` opens to, as JSON: where and how a project's notifications are posted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatDestination {
    /// Which chat.
    pub provider: ChatProvider,
    /// Where that is.
    #[serde(flatten)]
    pub address: ChatAddress,
}

/// Where a chat takes messages.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ChatAddress {
    /// An incoming hook, as most have it.
    Hook {
        /// A secret as a whole.
        webhook_url: String,
    },
    /// A room of Matrix.
    Room {
        /// The server's address, as its users' programs know it.
        homeserver_url: String,
        /// Such as `!abc:example.org`.
        room_id: String,
        /// The posting user's: a secret.
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

/// `integration.disabled.v1`: the destination refuses us for good and was switched off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntegrationDisabled {
    /// The team project.
    pub project_id: i64,
    /// The destination that was switched off; a newer one is not touched.
    pub revision: i64,
    /// A sentence for the owner, without the address.
    pub reason: String,
}

/// `chat.test_requested.v1`: a project's chat is to be told that it is connected. Private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatTestRequested {
    /// Tells this test from any other.
    pub test_id: Uuid,
    /// The team project.
    pub project_id: i64,
    /// Its name.
    pub project_name: String,
    /// The destination that is tested; no older one is used.
    pub revision: i64,
    /// Who asks.
    pub requested_by: String,
    /// The channel's name for people.
    #[serde(default)]
    pub channel: String,
}

/// `chat.tested.v1`: what became of a test of a project's chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChatTested {
    /// The test.
    pub test_id: Uuid,
    /// The team project.
    pub project_id: i64,
    /// `delivered`, `failed` or `skipped`.
    pub outcome: String,
    /// A sentence without the address; none when it was delivered.
    pub reason: Option<String>,
    /// When it was settled.
    pub at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_destination_of_either_shape_is_read_and_shows_no_secret() {
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
    fn a_test_from_before_channels_were_told_is_still_read() {
        let before = r#"{"test_id":"00000000-0000-0000-0000-000000000000","project_id":3,"project_name":"A","revision":1,"requested_by":"ada"}"#;
        let read: ChatTestRequested = serde_json::from_str(before).unwrap();
        assert_eq!(read.channel, "");
    }
}
