use serde::{Deserialize, Serialize};

use crate::{EventData, Exchange};

/// `integration.configured.v1`: where a project's notifications go from now on. Private; the address is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationConfigured {
    /// The team project.
    pub project_id: i64,
    /// Counts up with each change of a project's destination; the highest one holds.
    pub revision: i64,
    /// The sealed destination; null when it was taken away.
    pub sealed: Option<String>,
}

impl IntegrationConfigured {
    /// What a sealed destination is bound to, so that one project's cannot be passed off as another's.
    #[must_use]
    pub fn seal_context(project_id: i64, revision: i64) -> String {
        format!("integration/{project_id}/{revision}")
    }
}

/// What `sealed` opens to, as JSON: where and how a project's notifications are posted.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatDestination {
    /// Such as `slack`.
    pub provider: String,
    /// The hook's address: a secret.
    pub webhook_url: String,
}

impl std::fmt::Debug for ChatDestination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatDestination")
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}

impl EventData for IntegrationConfigured {
    const TYPE: &'static str = "integration.configured.v1";
    const EXCHANGE: Exchange = Exchange::Private;

    fn subject(&self) -> String {
        format!("team-project/{}", self.project_id)
    }
}

/// `integration.disabled.v1`: the destination refuses us for good and was switched off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegrationDisabled {
    /// The team project.
    pub project_id: i64,
    /// The destination that was switched off; a newer one is not touched.
    pub revision: i64,
    /// A sentence for the owner, without the address.
    pub reason: String,
}

impl EventData for IntegrationDisabled {
    const TYPE: &'static str = "integration.disabled.v1";
    const EXCHANGE: Exchange = Exchange::Public;

    fn subject(&self) -> String {
        format!("team-project/{}", self.project_id)
    }
}
