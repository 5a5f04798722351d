//! The services' responses, without the fields that no page shows.

use chrono::{DateTime, Utc};
use messages::t;
use serde::Deserialize;

/// The response of `GET /api/user/data`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct UserData {
    /// The IANA name.
    pub(crate) timezone: String,
    pub(crate) points: Points,
    pub(crate) streaks: Streaks,
    /// In the order in which they were earned.
    pub(crate) badges: Vec<String>,
    pub(crate) preferences: Preferences,
    pub(crate) session_stats: SessionStats,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Points {
    pub(crate) total: f64,
    pub(crate) today: f64,
    pub(crate) this_week: f64,
    pub(crate) this_month: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Streaks {
    /// Consecutive days up to today or yesterday.
    pub(crate) current: i64,
    pub(crate) longest: i64,
    pub(crate) days_active_this_week: i64,
    pub(crate) days_active_this_month: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Preferences {
    /// Sessions per day.
    pub(crate) daily_goal: i64,
    /// In minutes, like the two below.
    pub(crate) default_duration: i64,
    pub(crate) short_break_duration: i64,
    pub(crate) long_break_duration: i64,
    pub(crate) notification_sound: String,
    pub(crate) theme_preference: String,
    pub(crate) leaderboard_opt_in: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SessionStats {
    pub(crate) total_sessions: i64,
    /// Credited minutes.
    pub(crate) total_minutes: i64,
    /// In minutes.
    pub(crate) average_session_length: f64,
    /// The local hour, 0 to 23.
    pub(crate) most_productive_hour: i64,
    /// Empty if there is none.
    pub(crate) favorite_category: String,
}

/// The project of a session.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Project {
    /// `team_N`, `personal_N` or `none`.
    pub(crate) id: String,
    /// Empty for `none`.
    #[serde(default)]
    pub(crate) name: String,
    /// For a team's project, if the response names the team.
    pub(crate) team_name: Option<String>,
}

/// The response of `GET /api/all-projects`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Projects {
    pub(crate) projects: Vec<Project>,
}

/// A session, in lists and by itself.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Session {
    pub(crate) session_id: String,
    /// `running`, `awaiting_submit`, `completed`, `partial` or `abandoned`.
    pub(crate) status: String,
    pub(crate) category: String,
    /// In minutes.
    pub(crate) planned_duration: i64,
    pub(crate) planning_note: String,
    pub(crate) project: Project,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) expected_end_at: DateTime<Utc>,
    /// None while it runs.
    pub(crate) ended_at: Option<DateTime<Utc>>,
    /// The submitted end.
    pub(crate) end_time: Option<DateTime<Utc>>,
    pub(crate) submitted_at: Option<DateTime<Utc>>,
    pub(crate) credited_minutes: i64,
    pub(crate) points_awarded: f64,
    /// The execution note.
    pub(crate) note: String,
    /// 1 to 5.
    pub(crate) quality_rating: Option<i64>,
    pub(crate) tags: Vec<String>,
    pub(crate) flags: Vec<Flag>,
}

/// An integrity flag: a sign of a manipulated client.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Flag {
    /// `info`, or `suspect`, which keeps the session off the leaderboards.
    pub(crate) severity: String,
    /// A sentence for people.
    pub(crate) reason: String,
    /// `open`, `cleared` or `upheld`.
    pub(crate) state: String,
}

/// The response of `GET /api/get_presession/{session_id}`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PlannedSession {
    pub(crate) presession: PreSession,
    pub(crate) session_id: String,
    pub(crate) status: String,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) expected_end_at: DateTime<Utc>,
}

/// The locked plan.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PreSession {
    pub(crate) category: String,
    /// In minutes.
    pub(crate) planned_duration: i64,
    pub(crate) planning_note: String,
    pub(crate) project: Project,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct StartResponse {}

/// The response to a submit. What else it earned is loaded afterwards.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Submitted {
    pub(crate) new_badges: Vec<String>,
}

/// The response of `GET /api/teams` of the identity service.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Teams {
    pub(crate) teams: Vec<Team>,
}

/// A team that the user belongs to.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Team {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) slug: String,
}

impl Teams {
    pub(crate) fn name(&self, id: i64) -> String {
        let found = self.teams.iter().find(|team| team.id == id);
        found.map_or_else(
            || t("dashboard-former-team").into(),
            |team| team.name.clone(),
        )
    }
}

/// The response of `GET /api/analytics/tracking`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tracking {
    pub(crate) buckets: Vec<Bucket>,
}

/// One part of a range.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Bucket {
    /// A date, a week, an hour, a category or a project's id.
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) worked: SessionTotals,
}

/// The sums of submitted sessions.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct SessionTotals {
    pub(crate) sessions: i64,
    /// Credited minutes.
    pub(crate) minutes: i64,
}

/// The response of `GET /api/auth/user/{id}` of the identity service.
#[derive(Deserialize)]
pub(super) struct UserBody {
    pub(super) user: UserSummary,
}

/// The account, by name.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct UserSummary {
    pub(crate) username: String,
}
