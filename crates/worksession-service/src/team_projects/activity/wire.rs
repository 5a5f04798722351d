use auth_types::UserId;
use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::AsUtc;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::closed_sets::DeliveryState;
use crate::pagination::SessionCursor;
use crate::sessions::SessionStatus;

/// Which page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActivityQuery {
    /// 1 to 200 sessions; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub(super) limit: Option<i64>,
    /// The `next_cursor` of the previous page.
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
    pub(super) fn new(activity: Vec<ActivityEntry>, next: Option<&SessionCursor>) -> Self {
        Self {
            success: true,
            activity,
            next_cursor: next.map(ToString::to_string),
        }
    }
}

/// A member's session on the project.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(crate) struct ActivityEntry {
    /// UUIDv7.
    pub(super) session_id: String,
    user: ActivityUser,
    category: String,
    /// Minutes.
    planned_duration: i32,
    /// The planning note, which the team's chat may show too.
    planning_note: String,
    status: SessionStatus,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(super) started_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    expected_end_at: DateTime<Utc>,
    /// Null while it runs.
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    ended_at: Option<DateTime<Utc>>,
    /// 0 before the submit.
    credited_minutes: i32,
    /// The outcome of notifying the team's chat; null while there is none.
    notification: Option<ActivityNotification>,
}

/// The user of a session.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(crate) struct ActivityUser {
    id: UserId,
    /// The username at the start of the session.
    username: String,
}

/// The outcome of a notification.
#[derive(Debug, Queryable, Serialize, ToSchema)]
pub(crate) struct ActivityNotification {
    /// `delivered`, `failed` or `skipped`.
    #[schema(value_type = DeliveryState)]
    outcome: String,
    /// Why it was not delivered; null when it was.
    reason: Option<String>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    at: DateTime<Utc>,
}
