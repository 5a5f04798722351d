use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::model::Application;

/// The applications that have access to the caller's account, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct ApplicationsResponse {
    pub(crate) applications: Vec<ApplicationEntry>,
    pub(crate) total: usize,
}

/// One application.
#[derive(Serialize, ToSchema)]
pub(crate) struct ApplicationEntry {
    pub(crate) client_id: String,
    pub(crate) name: String,
    /// What it may do, with spaces between.
    #[schema(example = "openid profile")]
    pub(crate) scope: String,
    /// When it was given access.
    pub(crate) connected_at: DateTime<Utc>,
    /// When it last got a token; null while it has none that could be refreshed.
    pub(crate) last_used_at: Option<DateTime<Utc>>,
    /// How many sessions it has.
    pub(crate) sessions: u32,
}

impl From<Application> for ApplicationEntry {
    fn from(application: Application) -> Self {
        Self {
            client_id: application.client_id,
            name: application.name,
            scope: application.scope.to_string(),
            connected_at: application.connected_at.and_utc(),
            last_used_at: application.last_used_at.map(|at| at.and_utc()),
            sessions: application.sessions,
        }
    }
}
