use serde::Deserialize;

pub(super) const PATH: &str = "/settings/projects";
pub(super) const API: &str = "/api/projects";

/// A project, in lists and by itself.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct OwnProject {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) archived: bool,
}

/// The response of `GET /api/projects`.
#[derive(Deserialize)]
pub(super) struct OwnProjects {
    /// The oldest first.
    pub(super) projects: Vec<OwnProject>,
}

/// The response of `GET /api/projects/{id}`.
#[derive(Deserialize)]
pub(super) struct OwnProjectBody {
    pub(super) project: OwnProject,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct ProjectForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
}
