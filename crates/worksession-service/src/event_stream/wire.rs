use auth_types::TeamId;
use chrono::{DateTime, Utc};
use event_types::SessionUser;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::sessions::SessionStatus;
use crate::sessions::record::SessionRecord;

/// The data of `timer`: one of the user's sessions changed.
#[derive(Debug, Serialize)]
pub(super) struct TimerEvent {
    /// In the format of `GET /api/sessions/{id}`.
    pub(super) session: SessionRecord,
}

/// The data of `points`: what a submit earned, from its response.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PointsEvent {
    session_id: String,
    credited_minutes: i32,
    points_awarded: Number,
    /// Unchanged from the stored response.
    points: Value,
    streaks: Value,
    new_badges: Vec<String>,
}

/// The data of `team`: a session on a project of one of the user's teams started or ended.
#[derive(Debug, Serialize)]
pub(super) struct TeamEvent {
    pub(super) session_id: String,
    pub(super) user: SessionUser,
    pub(super) project: TeamProject,
    pub(super) category: String,
    /// Minutes.
    pub(super) planned_duration: i32,
    pub(super) status: SessionStatus,
    pub(super) started_at: DateTime<Utc>,
    pub(super) expected_end_at: DateTime<Utc>,
}

#[derive(Debug, Serialize)]
pub(super) struct TeamProject {
    /// `team_N`.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) team_id: TeamId,
    pub(super) team_name: String,
}
