use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

/// How a part is, inside a healthy report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// Up.
    Operational,
    /// Up, but behind.
    Degraded,
}

/// The parts of the service.
#[derive(Debug, Serialize, ToSchema)]
struct Services {
    authentication: Part,
    session_tracking: Part,
    chat_integration: Part,
    analytics: Part,
}

/// Everything that the service needs is up.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthyReport {
    /// `healthy`
    status: &'static str,
    message: &'static str,
    /// Dotted.
    version: &'static str,
    timestamp: DateTime<Utc>,
    /// `connected`
    database: &'static str,
    services: Services,
    /// For people, such as `3 days, 4 hours`.
    uptime: String,
}

impl HealthyReport {
    /// The report of now; `behind` when events wait too long.
    pub(super) fn new(timestamp: DateTime<Utc>, uptime: String, behind: bool) -> Self {
        let (message, chat_integration) = if behind {
            (
                "Operational, but chat notifications are behind",
                Part::Degraded,
            )
        } else {
            ("All services are operational", Part::Operational)
        };
        let services = Services {
            authentication: Part::Operational,
            session_tracking: Part::Operational,
            chat_integration,
            analytics: Part::Operational,
        };
        Self {
            status: "healthy",
            message,
            version: env!("CARGO_PKG_VERSION"),
            timestamp,
            database: "connected",
            services,
            uptime,
        }
    }
}

/// Something that the service needs is down.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnhealthyReport {
    /// `unhealthy`
    status: &'static str,
    message: &'static str,
    timestamp: DateTime<Utc>,
    /// What is down, a sentence each.
    issues: Vec<&'static str>,
}

impl UnhealthyReport {
    /// The report of now.
    pub(super) fn new(timestamp: DateTime<Utc>, issues: Vec<&'static str>) -> Self {
        let message = "One or more services are down";
        Self {
            status: "unhealthy",
            message,
            timestamp,
            issues,
        }
    }
}
