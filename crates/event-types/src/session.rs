use auth_types::{TeamId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The user of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionUser {
    /// The account.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub id: UserId,
    /// The username when the event happened.
    pub username: String,
}

/// The project that a session is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionProject {
    /// `team_N`, `personal_N` or `none`.
    pub id: String,
    /// The name of the project; empty for `none`.
    pub name: String,
    /// `team`, `personal` or `none`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The team of a team project.
    #[cfg_attr(test, schemars(with = "Option<crate::schemas::Id>"))]
    pub team_id: Option<TeamId>,
    /// The team's name.
    pub team_name: Option<String>,
}

/// The chat of a project. The address itself is sent sealed, in `integration.configured.v1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChatTarget {
    /// The chat's name, such as `slack`.
    // Not a `ChatProvider`, so that consumers can still read the session of a chat that they do not know.
    pub provider: String,
    /// The channel's name that users see.
    pub channel: String,
    /// The revision of the destination when the event happened.
    pub revision: i64,
    /// What the chat announces: `planned`, `finished`, `abandoned`.
    #[serde(default = "ChatTarget::usual")]
    pub announce: Vec<String>,
}

impl ChatTarget {
    /// A timer started.
    pub const PLANNED: &'static str = "planned";
    /// A session was submitted.
    pub const FINISHED: &'static str = "finished";
    /// A session was not submitted in time.
    pub const ABANDONED: &'static str = "abandoned";

    /// Returns what a chat announces by default.
    #[must_use]
    pub fn usual() -> Vec<String> {
        [Self::PLANNED, Self::FINISHED].map(str::to_owned).into()
    }

    /// Whether the chat announces `what`.
    #[must_use]
    pub fn announces(&self, what: &str) -> bool {
        self.announce.iter().any(|announced| announced == what)
    }
}

/// `session.started.v1`: a timer started and the plan is locked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionStarted {
    /// The session.
    pub session_id: Uuid,
    /// The user who started it.
    pub user: SessionUser,
    /// The project that it is for.
    pub project: SessionProject,
    /// The category; locked.
    pub category: String,
    /// The planned duration in minutes; locked.
    pub planned_duration: i32,
    /// The planning note; locked, may be empty.
    pub planning_note: String,
    /// When the session started, by the server's clock.
    pub started_at: DateTime<Utc>,
    /// The start plus the planned duration.
    pub expected_end_at: DateTime<Utc>,
    /// The client that started it: `client_a`, `client_b` or `session`.
    pub client: String,
    /// The chat of the project; null when it has none.
    pub chat: Option<ChatTarget>,
}

/// `session.submitted.v1`: a session was submitted and credited. The event contains no notes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionSubmitted {
    /// The session.
    pub session_id: Uuid,
    /// The user who ran it.
    pub user: SessionUser,
    /// The project that it was for.
    pub project: SessionProject,
    /// The category, as planned.
    pub category: String,
    /// The planned duration in minutes.
    pub planned_duration: i32,
    /// When the session started, by the server's clock.
    pub started_at: DateTime<Utc>,
    /// The start plus the planned duration.
    pub expected_end_at: DateTime<Utc>,
    /// The client that started it: `client_a`, `client_b` or `session`.
    pub client: String,
    /// The chat of the project; null when it has none.
    pub chat: Option<ChatTarget>,
    /// `completed` or `partial`.
    pub status: String,
    /// The credited time in minutes.
    pub credited_minutes: i32,
    /// The points, with two decimals.
    pub points_awarded: f64,
    /// The current streak in days.
    pub streak: i32,
    /// When the session was submitted, by the server's clock.
    pub submitted_at: DateTime<Utc>,
}

/// `session.abandoned.v1`: a session was not submitted in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionAbandoned {
    /// The session.
    pub session_id: Uuid,
    /// The user who ran it.
    pub user: SessionUser,
    /// The project that it was for.
    pub project: SessionProject,
    /// The category, as planned.
    pub category: String,
    /// The planned duration in minutes.
    pub planned_duration: i32,
    /// When the session started, by the server's clock.
    pub started_at: DateTime<Utc>,
    /// The start plus the planned duration.
    pub expected_end_at: DateTime<Utc>,
    /// The client that started it: `client_a`, `client_b` or `session`.
    pub client: String,
    /// The chat of the project; null when it has none.
    pub chat: Option<ChatTarget>,
    /// The cause, such as `not_submitted`.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_chat_without_an_announce_list_gets_the_default_announcements() {
        let before = r#"{"provider":"slack","channel":"focus","revision":1}"#;
        let read: ChatTarget = serde_json::from_str(before).unwrap();
        assert!(read.announces(ChatTarget::PLANNED) && read.announces(ChatTarget::FINISHED));
        assert!(!read.announces(ChatTarget::ABANDONED));
    }
}
