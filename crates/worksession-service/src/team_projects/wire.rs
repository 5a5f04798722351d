use auth_types::TeamId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::TeamProjectRow;
use crate::error::Error;
use crate::projects::TeamProjectId;

/// A new team project.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateTeamProjectRequest {
    /// A team that the caller owns or administers.
    #[schema(value_type = TeamId)]
    pub(crate) team_id: Option<TeamId>,
    /// 1 to 100 characters on one line.
    #[schema(value_type = String, min_length = 1, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Up to 2,000 characters.
    #[schema(max_length = 2000)]
    pub(crate) description: Option<String>,
    /// The display name of the chat channel, up to 100 characters.
    #[schema(max_length = 100)]
    pub(crate) chat_channel: Option<String>,
    /// Whether every signed-in user may read the project; false by default.
    pub(crate) is_public: Option<bool>,
}

/// Changes to a team project; absent fields stay as they are. The team never changes.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UpdateTeamProjectRequest {
    /// 1 to 100 characters on one line.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Up to 2,000 characters.
    #[schema(max_length = 2000)]
    pub(crate) description: Option<String>,
    /// The display name of the chat channel, up to 100 characters.
    #[schema(max_length = 100)]
    pub(crate) chat_channel: Option<String>,
    /// Whether every signed-in user may read the project.
    pub(crate) is_public: Option<bool>,
}

/// A team project in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamProjectSummary {
    pub(crate) id: TeamProjectId,
    pub(crate) name: String,
    pub(crate) team_name: String,
    pub(crate) team_id: TeamId,
    /// Only present where archived projects are listed too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) archived: Option<bool>,
}

/// The projects of the caller's teams, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamProjectsResponse {
    pub(crate) success: bool,
    pub(crate) team_projects: Vec<TeamProjectSummary>,
}

/// A team project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TeamProjectDetail {
    id: TeamProjectId,
    name: String,
    description: String,
    team_name: String,
    team_id: TeamId,
    is_public: bool,
    /// The display name of the team's chat channel; empty without one.
    chat_channel: String,
    archived: bool,
    created_at: DateTime<Utc>,
}

impl TeamProjectDetail {
    pub(crate) fn new(row: TeamProjectRow, team_name: String) -> Self {
        Self {
            id: row.id,
            name: row.name,
            description: row.description,
            team_name,
            team_id: row.team_id,
            is_public: row.is_public,
            chat_channel: row.chat_channel,
            archived: row.archived_at.is_some(),
            created_at: row.created_at.and_utc(),
        }
    }
}

/// Parses the id in a path. A malformed id names no project.
pub(crate) fn parse_id(text: &str) -> Result<TeamProjectId, Error> {
    text.parse().map_err(|_| Error::TeamProjectNotFound)
}
