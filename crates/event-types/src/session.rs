use auth_types::{TeamId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Who runs a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionUser {
    /// The account.
    #[cfg_attr(test, schemars(with = "crate::schemas::Id"))]
    pub id: UserId,
    /// Its name when the event happened.
    pub username: String,
}

/// What a session is spent on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionProject {
    /// `team_N`, `personal_N` or `none`.
    pub id: String,
    /// Empty for `none`.
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

/// Where a project's notifications go; the address itself travels sealed in `integration.configured.v1`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChatTarget {
    /// Such as `slack`.
    // Not a `ChatProvider`: a reader who does not know a new chat still reads the session.
    pub provider: String,
    /// The channel's name for people.
    pub channel: String,
    /// The version of the destination that was set when the event happened.
    pub revision: i64,
    /// What the chat is told of: `planned`, `finished`, `abandoned`.
    #[serde(default = "ChatTarget::usual")]
    pub announce: Vec<String>,
}

impl ChatTarget {
    /// A timer started.
    pub const PLANNED: &'static str = "planned";
    /// A session was submitted.
    pub const FINISHED: &'static str = "finished";
    /// Nobody submitted the session in time.
    pub const ABANDONED: &'static str = "abandoned";

    /// What a chat is told of unless its project says otherwise.
    #[must_use]
    pub fn usual() -> Vec<String> {
        [Self::PLANNED, Self::FINISHED].map(str::to_owned).into()
    }

    /// Whether the chat is told of this.
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
    /// Who started it.
    pub user: SessionUser,
    /// What it is for.
    pub project: SessionProject,
    /// Locked.
    pub category: String,
    /// Minutes. Locked.
    pub planned_duration: i32,
    /// Locked; may be empty.
    pub planning_note: String,
    /// The server's time.
    pub started_at: DateTime<Utc>,
    /// Start and planned duration.
    pub expected_end_at: DateTime<Utc>,
    /// Which client started it: `client_a`, `client_b` or `session`.
    pub client: String,
    /// Null when the project has no chat.
    pub chat: Option<ChatTarget>,
}

/// `session.submitted.v1`: a session was completed and credited. Carries no planning note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionSubmitted {
    /// The session.
    pub session_id: Uuid,
    /// Who ran it.
    pub user: SessionUser,
    /// What it was for.
    pub project: SessionProject,
    /// As planned.
    pub category: String,
    /// Minutes, as planned.
    pub planned_duration: i32,
    /// The server's time.
    pub started_at: DateTime<Utc>,
    /// Start and planned duration.
    pub expected_end_at: DateTime<Utc>,
    /// Which client started it.
    pub client: String,
    /// Null when the project has no chat.
    pub chat: Option<ChatTarget>,
    /// `completed` or `partial`.
    pub status: String,
    /// Minutes.
    pub credited_minutes: i32,
    /// With two decimals.
    pub points_awarded: f64,
    /// The current streak in days.
    pub streak: i32,
    /// The server's time.
    pub submitted_at: DateTime<Utc>,
}

/// `session.abandoned.v1`: nobody submitted the session in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionAbandoned {
    /// The session.
    pub session_id: Uuid,
    /// Who ran it.
    pub user: SessionUser,
    /// What it was for.
    pub project: SessionProject,
    /// As planned.
    pub category: String,
    /// Minutes, as planned.
    pub planned_duration: i32,
    /// The server's time.
    pub started_at: DateTime<Utc>,
    /// Start and planned duration.
    pub expected_end_at: DateTime<Utc>,
    /// Which client started it.
    pub client: String,
    /// Null when the project has no chat.
    pub chat: Option<ChatTarget>,
    /// Why, such as `not_submitted`.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_chat_from_before_there_was_a_choice_is_told_of_plans_and_ends() {
        let before = r#"{"provider":"slack","channel":"focus","revision":1}"#;
        let read: ChatTarget = serde_json::from_str(before).unwrap();
        assert!(read.announces(ChatTarget::PLANNED) && read.announces(ChatTarget::FINISHED));
        assert!(!read.announces(ChatTarget::ABANDONED));
    }
}
