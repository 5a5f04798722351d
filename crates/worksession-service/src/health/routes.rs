use actix_web::{HttpResponse, web};
use service_kit::http::endpoint;

use super::wire::{HealthyReport, UnhealthyReport};
use super::{checks, uptime};
use crate::app_state::State;

pub(crate) fn configure(config: &mut web::ServiceConfig) {
    config.service(endpoint("/api/health").get(report));
}

/// Reports whether the service and everything that it needs work, including other services.
#[utoipa::path(
    get, path = "/api/health", operation_id = "getHealth", tag = "health",
    responses(
        (status = 200, description = "Everything works; a part may be degraded.", body = HealthyReport),
        (status = 503, description = "A part is down.", body = UnhealthyReport),
    )
)]
pub(crate) async fn report(state: State) -> HttpResponse {
    let findings = checks::check_all(&state).await;
    let now = state.clock.now();
    if findings.issues.is_empty() {
        let uptime = uptime::format_uptime(state.health.uptime());
        HttpResponse::Ok().json(HealthyReport::new(now, uptime, &findings))
    } else {
        HttpResponse::ServiceUnavailable().json(UnhealthyReport::new(now, findings.issues.clone()))
    }
}
