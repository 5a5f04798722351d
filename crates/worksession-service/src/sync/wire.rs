use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::preferences::CurrentPreferences;
use crate::projects::Project;
use crate::sessions::record::SessionRecord;

/// Where to go on.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatusQuery {
    /// The cursor of the last answer; without it everything is told from the beginning.
    pub(super) since: Option<String>,
}

/// What changed for the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SyncStatus {
    pub(super) success: bool,
    pub(super) server_time: DateTime<Utc>,
    /// What to send as `since` the next time; a text to be kept as it is.
    pub(super) cursor: String,
    /// Whether to ask again at once: more has changed already.
    pub(super) more: bool,
    /// Null when none runs.
    pub(super) running_session: Option<SessionRecord>,
    /// Up to 200, the latest state of each thing that changed, in the order of the changes. There may be more although
    /// there are fewer here.
    pub(super) changes: Vec<Change>,
}

/// A thing that changed, as it is now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Change {
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

/// As the endpoint of its kind answers it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChangeData {
    /// As in `GET /api/sessions/{id}`.
    Session(Box<SessionRecord>),
    /// As in `GET /api/projects`.
    Project(Project),
    /// As `PUT /api/user/preferences` answers.
    Preferences(CurrentPreferences),
}
