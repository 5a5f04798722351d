//! What the pages read of the services' answers. Fields that no page shows are left out.

use chrono::{DateTime, Utc};
use serde::Deserialize;

/// `GET /api/user/data`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct UserData {
    /// An IANA name.
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
    /// Days in a row up to today or yesterday.
    pub(crate) current: i64,
    pub(crate) longest: i64,
    pub(crate) days_active_this_week: i64,
    pub(crate) days_active_this_month: i64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Preferences {
    /// Sessions per day.
    pub(crate) daily_goal: i64,
    /// Minutes, as the two below.
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
    /// Credited.
    pub(crate) total_minutes: i64,
    /// Minutes.
    pub(crate) average_session_length: f64,
    /// 0 to 23, local.
    pub(crate) most_productive_hour: i64,
    /// Empty when there is none.
    pub(crate) favorite_category: String,
}

/// What a session was planned on.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Project {
    /// `team_N`, `personal_N` or `none`.
    pub(crate) id: String,
    /// Empty for `none`.
    #[serde(default)]
    pub(crate) name: String,
    /// Of a team's project, where the answer has it.
    pub(crate) team_name: Option<String>,
}

/// `GET /api/all-projects`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Projects {
    pub(crate) projects: Vec<Project>,
}

/// A session, in lists and alone.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Session {
    pub(crate) session_id: String,
    /// `running`, `awaiting_submit`, `completed`, `partial` or `abandoned`.
    pub(crate) status: String,
    pub(crate) category: String,
    /// Minutes.
    pub(crate) planned_duration: i64,
    pub(crate) planning_note: String,
    pub(crate) project: Project,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) expected_end_at: DateTime<Utc>,
    /// None while it runs.
    pub(crate) ended_at: Option<DateTime<Utc>>,
    /// As it was submitted.
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

/// A sign of a manipulated client.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Flag {
    /// `info`, or `suspect`: off the boards.
    pub(crate) severity: String,
    /// A sentence.
    pub(crate) reason: String,
    /// `open`, `cleared` or `upheld`.
    pub(crate) state: String,
}

/// `GET /api/get_presession/{session_id}`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PlannedSession {
    pub(crate) presession: PreSession,
    pub(crate) session_id: String,
    pub(crate) status: String,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) expected_end_at: DateTime<Utc>,
}

/// The plan, locked.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PreSession {
    pub(crate) category: String,
    /// Minutes.
    pub(crate) planned_duration: i64,
    pub(crate) planning_note: String,
    pub(crate) project: Project,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Started {}

/// The answer to a submit; what else it earned is read afterwards.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Submitted {
    pub(crate) new_badges: Vec<String>,
}

/// `GET /api/teams` of the identity service.
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
    /// What a team is called.
    pub(crate) fn name(&self, id: i64) -> String {
        let found = self.teams.iter().find(|team| team.id == id);
        found.map_or_else(
            || "A team that you left".to_owned(),
            |team| team.name.clone(),
        )
    }
}

/// `GET /api/analytics/tracking`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Tracking {
    pub(crate) buckets: Vec<Bucket>,
}

/// A part of a range.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Bucket {
    /// A date, a week, an hour, a category or a project's id.
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) worked: Worked,
}

/// What submitted sessions came to.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Worked {
    pub(crate) sessions: i64,
    /// Credited.
    pub(crate) minutes: i64,
}

/// `GET /api/auth/user/{id}` of the identity service.
#[derive(Deserialize)]
pub(super) struct Found {
    pub(super) user: Person,
}

/// Somebody, by name.
#[derive(Deserialize)]
pub(super) struct Person {
    pub(super) username: String,
}
