use auth_types::TeamId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::model::ProjectRow;
use super::{ProjectId, ProjectKind};

/// The query of a list of projects.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProjectListQuery {
    /// Whether to include archived projects.
    #[serde(default)]
    pub(crate) archived: bool,
}

/// A new personal project.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateProjectRequest {
    /// One line of 1 to 100 characters.
    #[schema(value_type = String, min_length = 1, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Up to 2,000 characters.
    #[schema(max_length = 2000)]
    pub(crate) description: Option<String>,
}

/// Changes to a personal project; absent fields stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UpdateProjectRequest {
    /// One line of 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    pub(crate) name: Option<String>,
    /// Up to 2,000 characters.
    #[schema(max_length = 2000)]
    pub(crate) description: Option<String>,
}

/// A personal project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Project {
    id: ProjectId,
    name: String,
    description: String,
    /// Always `personal`.
    #[serde(rename = "type")]
    kind: ProjectKind,
    archived: bool,
    created_at: DateTime<Utc>,
}

impl From<ProjectRow> for Project {
    fn from(row: ProjectRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            description: row.description,
            kind: ProjectKind::Personal,
            archived: row.archived_at.is_some(),
            created_at: row.created_at.and_utc(),
        }
    }
}

/// The response with one personal project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProjectResponse {
    pub(crate) success: bool,
    pub(crate) project: Project,
}

impl From<ProjectRow> for ProjectResponse {
    fn from(row: ProjectRow) -> Self {
        Self {
            success: true,
            project: row.into(),
        }
    }
}

/// The caller's personal projects, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProjectsResponse {
    pub(crate) success: bool,
    pub(crate) projects: Vec<Project>,
}

/// A project on which the caller can start a session, unless it is archived.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnyProject {
    /// `team_N` or `personal_N`, which a start accepts as `project_id`.
    pub(crate) id: String,
    pub(crate) name: String,
    /// `team` or `personal`.
    #[serde(rename = "type")]
    pub(crate) kind: ProjectKind,
    /// Null for a personal project.
    pub(crate) team_id: Option<TeamId>,
    /// Null for a personal project.
    pub(crate) team_name: Option<String>,
    /// Present only if archived projects are included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) archived: Option<bool>,
}

/// Personal projects, followed by those of the caller's teams.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AllProjectsResponse {
    pub(crate) success: bool,
    pub(crate) projects: Vec<AnyProject>,
}
