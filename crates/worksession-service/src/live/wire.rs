use auth_types::{TeamId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::sessions::Status;
use crate::sessions::record::SessionRecord;

/// `timer`: one of the user's own sessions changed.
#[derive(Debug, Serialize)]
pub(super) struct Timer {
    /// As in `GET /api/sessions/{id}`.
    pub(super) session: SessionRecord,
}

/// `points`: what a submit earned, from its answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Earned {
    session_id: String,
    credited_minutes: i32,
    points_awarded: Number,
    /// Passed on as they stand in the stored answer.
    points: Value,
    streaks: Value,
    new_badges: Vec<String>,
}

/// `team`: a session on a project of one of the user's teams started or ended.
#[derive(Debug, Serialize)]
pub(super) struct TeamNews {
    pub(super) session_id: String,
    pub(super) user: Member,
    pub(super) project: TeamProject,
    pub(super) category: String,
    /// Minutes.
    pub(super) planned_duration: i32,
    pub(super) status: Status,
    pub(super) started_at: DateTime<Utc>,
    pub(super) expected_end_at: DateTime<Utc>,
}

#[derive(Debug, Serialize)]
pub(super) struct Member {
    pub(super) id: UserId,
    pub(super) username: String,
}

#[derive(Debug, Serialize)]
pub(super) struct TeamProject {
    /// `team_N`.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) team_id: TeamId,
    pub(super) team_name: String,
}
