use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::preferences::CurrentPreferences;
use crate::projects::Project;
use crate::sessions::record::SessionRecord;

/// The cursor to continue from.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatusQuery {
    /// The `cursor` of the last response. Without it, everything is returned from the beginning.
    pub(super) since: Option<String>,
}

/// The changes for the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SyncStatus {
    pub(super) success: bool,
    pub(super) server_time: DateTime<Utc>,
    /// The value of `since` for the next request; an opaque text.
    pub(super) cursor: String,
    /// Whether there are more changes; request them at once.
    pub(super) more: bool,
    /// Null when no session runs.
    pub(super) running_session: Option<SessionRecord>,
    /// Up to 200 changed items in their latest state, in the order of the changes. `more` can be true even with fewer
    /// than 200.
    pub(super) changes: Vec<SyncChange>,
}

/// A changed item in its latest state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub(crate) struct SyncChange {
    /// `session`, `project` or `preferences`.
    #[serde(rename = "type")]
    pub(super) kind: ChangeKind,
    /// The session's id, `personal_N`, or `preferences`.
    pub(super) id: String,
    /// When it changed.
    pub(super) at: DateTime<Utc>,
    pub(super) data: ChangeData,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeKind {
    Session,
    Project,
    Preferences,
}

/// The item, as the endpoint of its kind returns it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChangeData {
    /// As in `GET /api/sessions/{id}`.
    Session(Box<SessionRecord>),
    /// As in `GET /api/projects`.
    Project(Project),
    /// As in the response of `PUT /api/user/preferences`.
    Preferences(CurrentPreferences),
}
