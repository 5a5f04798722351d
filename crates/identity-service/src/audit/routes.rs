use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::Problem;
use service_kit::http::{Query, endpoint};

use super::service;
use super::wire::{AuditList, AuditQuery};
use crate::app::App;
use crate::auth::SuperAdmin;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/admin/audit").get(list_audit));
}

/// Returns the audit log, newest first.
#[utoipa::path(
    get, path = "/api/admin/audit", operation_id = "listAuditEntries", tag = "administration", params(AuditQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "A page of the audit log", body = AuditList),
        (status = 400, description = "`validation_failed`", body = IdentityError),
    )
)]
async fn list_audit(
    app: Data<App>,
    _: SuperAdmin,
    query: Result<Query<AuditQuery>, Problem>,
) -> actix_web::Result<HttpResponse> {
    Ok(HttpResponse::Ok().json(service::list(&app, query?.0).await?))
}
