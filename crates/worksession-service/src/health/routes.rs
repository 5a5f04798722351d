use actix_web::{HttpResponse, web};
use service_kit::http::endpoint;

use super::uptime;
use super::wire::{HealthyReport, Part, Services, UnhealthyReport};
use crate::state::State;

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/health").get(report));
}

/// Tells whether everything works that the service needs, other services included.
#[utoipa::path(
    get, path = "/api/health", tag = "health",
    responses(
        (status = 200, description = "Everything is up; a part may be behind", body = HealthyReport),
        (status = 503, description = "Something is down", body = UnhealthyReport),
    )
)]
pub(crate) async fn report(state: State) -> HttpResponse {
    let findings = state.probe.look(&state).await;
    let timestamp = state.clock.now();
    if !findings.issues.is_empty() {
        return HttpResponse::ServiceUnavailable().json(UnhealthyReport {
            status: "unhealthy",
            message: "One or more services are down",
            timestamp,
            issues: findings.issues.clone(),
        });
    }
    let (message, chat_integration) = match findings.behind {
        false => ("All services are operational", Part::Operational),
        true => (
            "Operational, but chat notifications are behind",
            Part::Degraded,
        ),
    };
    HttpResponse::Ok().json(HealthyReport {
        status: "healthy",
        message,
        version: env!("CARGO_PKG_VERSION"),
        timestamp,
        database: "connected",
        services: Services {
            authentication: Part::Operational,
            session_tracking: Part::Operational,
            chat_integration,
            analytics: Part::Operational,
        },
        uptime: uptime::readable(state.probe.uptime()),
    })
}
