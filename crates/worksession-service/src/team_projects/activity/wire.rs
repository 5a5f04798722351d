use auth_types::UserId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::model::ActivityRow;
use crate::page::Position;
use crate::sessions::Status;

/// Which page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActivityQuery {
    /// 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<i64>,
    /// The `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
}

/// A page of the project's sessions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActivityResponse {
    success: bool,
    activity: Vec<ActivityEntry>,
    /// Where the next page begins; null on the last one.
    next_cursor: Option<String>,
}

impl ActivityResponse {
    pub(super) fn new(rows: Vec<ActivityRow>, next: Option<&Position>) -> Self {
        Self {
            success: true,
            activity: rows.into_iter().map(Into::into).collect(),
            next_cursor: next.map(ToString::to_string),
        }
    }
}

/// A member's session on the project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActivityEntry {
    /// UUIDv7.
    session_id: String,
    user: ActivityUser,
    category: String,
    /// Minutes.
    planned_duration: i32,
    /// What the team's chat is told, too.
    planning_note: String,
    status: Status,
    started_at: DateTime<Utc>,
    expected_end_at: DateTime<Utc>,
    /// Null while it runs.
    ended_at: Option<DateTime<Utc>>,
    /// 0 before the submit.
    credited_minutes: i32,
    /// What became of telling the team's chat; null while that is open.
    notification: Option<ActivityNotification>,
}

/// Whose session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActivityUser {
    id: UserId,
    /// As it was at the start.
    username: String,
}

/// What became of a notification.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ActivityNotification {
    /// `delivered`, `failed` or `skipped`.
    outcome: String,
    /// Why not; null when it was delivered.
    reason: Option<String>,
    at: DateTime<Utc>,
}

impl From<ActivityRow> for ActivityEntry {
    fn from(row: ActivityRow) -> Self {
        let settled = row.outcome.zip(row.settled_at);
        Self {
            session_id: row.session_id,
            user: ActivityUser {
                id: row.user_id,
                username: row.username,
            },
            category: row.category,
            planned_duration: row.planned_duration,
            planning_note: row.planning_note,
            status: row.status,
            started_at: row.started_at.and_utc(),
            expected_end_at: row.expected_end_at.and_utc(),
            ended_at: row.ended_at.map(|at| at.and_utc()),
            credited_minutes: row.credited_minutes,
            notification: settled.map(|(outcome, at)| ActivityNotification {
                outcome,
                reason: row.reason,
                at: at.and_utc(),
            }),
        }
    }
}
