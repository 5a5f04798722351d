//! The services' responses for the pages of teams, without the fields that no page shows.

use chrono::{DateTime, Utc};
use event_types::ChatProvider;
use serde::Deserialize;

use crate::api::{Project, Team, UserSummary};

/// The response of `GET /api/teams/{slug}` of the identity service.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TeamDetail {
    pub(super) team: Team,
    /// `owner`, `admin` or `member`.
    my_role: String,
}

impl TeamDetail {
    /// Whether the user is a manager of the team, who may change what belongs to it.
    pub(super) fn manages(&self) -> bool {
        matches!(self.my_role.as_str(), "owner" | "admin")
    }
}

/// The response of `GET /api/team-activity`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TeamActivity {
    /// The most credited minutes first.
    pub(super) members: Vec<MemberTotals>,
    /// The oldest first.
    pub(super) running: Vec<RunningSession>,
}

/// What a member planned and finished.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct MemberTotals {
    pub(super) user: UserSummary,
    pub(super) sessions: i64,
    pub(super) planned_minutes: i64,
    pub(super) credited_minutes: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RunningSession {
    pub(super) session_id: String,
    pub(super) user: UserSummary,
    pub(super) project: Project,
    pub(super) category: String,
    pub(super) expected_end_at: DateTime<Utc>,
}

/// The response of `GET /api/team-projects`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TeamProjects {
    pub(super) team_projects: Vec<TeamProject>,
}

/// A team's project, in a list and in full.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct TeamProject {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) team_id: i64,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) is_public: bool,
    #[serde(default)]
    pub(super) chat_channel: String,
    #[serde(default)]
    pub(super) archived: bool,
}

/// A page of `GET /api/team-projects/{id}/activity`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ProjectActivity {
    pub(super) activity: Vec<ActivityEntry>,
    pub(super) next_cursor: Option<String>,
}

/// A member's session on a project.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ActivityEntry {
    pub(super) user: UserSummary,
    pub(super) category: String,
    /// In minutes.
    pub(super) planned_duration: i64,
    pub(super) planning_note: String,
    pub(super) status: String,
    pub(super) started_at: DateTime<Utc>,
    pub(super) credited_minutes: i64,
    /// None while its outcome is open.
    pub(super) notification: Option<Notification>,
}

/// The outcome of the notification in the team's chat.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Notification {
    /// `delivered`, `failed` or `skipped`.
    pub(super) outcome: String,
    pub(super) reason: Option<String>,
}

/// The response of `GET /api/team-projects/{id}/chat`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct ChatResponse {
    pub(super) chat: Chat,
}

/// The state of a project's chat.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Chat {
    /// None if no chat is configured.
    pub(super) provider: Option<String>,
    /// `active`, `paused` or `off`.
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) created_by: Option<i64>,
    pub(super) client_id: Option<String>,
    pub(super) announce: Vec<String>,
    pub(super) last_test: Option<ChatTest>,
}

impl Chat {
    /// Returns the product's name, if a chat is configured.
    pub(super) fn label(&self) -> Option<&str> {
        let name = self.provider.as_deref()?;
        Some(ChatProvider::named(name).map_or(name, |known| known.label()))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ChatTest {
    /// `pending`, `delivered`, `failed` or `skipped`.
    pub(super) outcome: String,
    pub(super) reason: Option<String>,
    pub(super) at: DateTime<Utc>,
}

/// The response of `GET /api/leaderboard`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Leaderboard {
    pub(super) entries: Vec<LeaderboardEntry>,
    /// The user's own entry, on whatever page it is.
    pub(super) me: Option<LeaderboardEntry>,
    pub(super) next_cursor: Option<String>,
}

impl Leaderboard {
    pub(super) fn is_me(&self, place: &LeaderboardEntry) -> bool {
        self.me
            .as_ref()
            .is_some_and(|me| me.user_id == place.user_id)
    }

    /// Returns the user's entry, if it is not on this page.
    pub(super) fn me_elsewhere(&self) -> Option<&LeaderboardEntry> {
        let me = self.me.as_ref()?;
        (!self.entries.iter().any(|place| self.is_me(place))).then_some(me)
    }
}

/// An entry of a leaderboard.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct LeaderboardEntry {
    pub(super) rank: i64,
    pub(super) user_id: i64,
    pub(super) username: String,
    pub(super) points: f64,
    /// Credited minutes.
    pub(super) minutes: i64,
}

/// The periods of leaderboards, as the API names them.
pub(super) const PERIODS: [&str; 4] = ["day", "week", "month", "all"];

pub(super) fn period(requested: Option<&str>) -> &'static str {
    let known = PERIODS.into_iter().find(|name| Some(*name) == requested);
    known.unwrap_or("week")
}
