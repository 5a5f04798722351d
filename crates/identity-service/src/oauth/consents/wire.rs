use auth_types::ScopeSet;
use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// The applications that have access to the caller's account, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct ApplicationsResponse {
    pub(crate) applications: Vec<Application>,
    pub(crate) total: usize,
}

/// An application with access to the account.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ApplicationEntry)]
pub(crate) struct Application {
    pub(crate) client_id: String,
    pub(crate) name: String,
    /// The scopes that it may use, separated by spaces.
    #[schema(value_type = String, example = "openid profile")]
    #[serde(serialize_with = "as_text")]
    pub(crate) scope: ScopeSet,
    /// When it got access.
    pub(crate) connected_at: DateTime<Utc>,
    /// When it last got a token; null if it has no session.
    pub(crate) last_used_at: Option<DateTime<Utc>>,
    /// The number of its sessions.
    pub(crate) sessions: u32,
}

fn as_text<S: Serializer>(scope: &ScopeSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(scope)
}
