use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

/// How a part is, inside a healthy report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    /// Up.
    Operational,
    /// Up, but behind.
    Degraded,
}

/// The parts of the service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Services {
    pub(crate) authentication: Part,
    pub(crate) session_tracking: Part,
    pub(crate) chat_integration: Part,
    pub(crate) analytics: Part,
}

/// Everything that the service needs is up.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthyReport {
    /// `healthy`
    pub(crate) status: &'static str,
    pub(crate) message: &'static str,
    /// Dotted.
    pub(crate) version: &'static str,
    pub(crate) timestamp: DateTime<Utc>,
    /// `connected`
    pub(crate) database: &'static str,
    pub(crate) services: Services,
    /// For people, such as `3 days, 4 hours`.
    pub(crate) uptime: String,
}

/// Something that the service needs is down.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnhealthyReport {
    /// `unhealthy`
    pub(crate) status: &'static str,
    pub(crate) message: &'static str,
    pub(crate) timestamp: DateTime<Utc>,
    /// What is down, a sentence each.
    pub(crate) issues: Vec<&'static str>,
}
