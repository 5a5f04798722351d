use chrono::{DateTime, Utc};
use serde::Serialize;
use service_kit::time_zone;
use utoipa::ToSchema;

use super::findings::HealthFindings;

/// The state of a part in a healthy report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Part {
    /// It works.
    Operational,
    /// It works, but is behind or misconfigured.
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

/// The report when everything that the service needs works.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthyReport {
    /// Always `healthy`.
    status: &'static str,
    message: &'static str,
    /// The version of the service, such as `1.2.3`.
    version: &'static str,
    /// The version of the time zone rules in use, such as `2026a`.
    tzdata_version: &'static str,
    timestamp: DateTime<Utc>,
    /// Always `connected`.
    database: &'static str,
    services: Services,
    /// The uptime as text, such as `3 days, 4 hours`.
    uptime: String,
}

impl HealthyReport {
    /// Creates the report.
    pub(super) fn new(timestamp: DateTime<Utc>, uptime: String, findings: &HealthFindings) -> Self {
        let part = |degraded| match degraded {
            true => Part::Degraded,
            false => Part::Operational,
        };
        let message = match (findings.is_address_untrusted, findings.is_behind) {
            (true, _) => {
                "Operational, but the identity service counts everybody who signs in here as one caller: \
                 IDENTITY__TRUSTED_PROXIES must include this service's address"
            }
            (false, true) => "Operational, but chat notifications are behind",
            (false, false) => "All services are operational",
        };
        let services = Services {
            authentication: part(findings.is_address_untrusted),
            session_tracking: Part::Operational,
            chat_integration: part(findings.is_behind),
            analytics: Part::Operational,
        };
        Self {
            status: "healthy",
            message,
            version: env!("CARGO_PKG_VERSION"),
            tzdata_version: time_zone::version(),
            timestamp,
            database: "connected",
            services,
            uptime,
        }
    }
}

/// The report when something that the service needs is down.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnhealthyReport {
    /// Always `unhealthy`.
    status: &'static str,
    message: &'static str,
    timestamp: DateTime<Utc>,
    /// What is down, one sentence each.
    issues: Vec<&'static str>,
}

impl UnhealthyReport {
    /// Creates the report.
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
