use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::Problem;
use service_kit::http::{Query, endpoint};

use super::model::Filter;
use super::service;
use super::wire::{AuditList, AuditQuery};
use crate::app::App;
use crate::auth::SuperAdmin;
use crate::page::PAGE;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/admin/audit").get(list_audit));
}

/// What happened to accounts, newest first.
#[utoipa::path(
    get, path = "/api/admin/audit", tag = "administration", params(AuditQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "A page of the log", body = AuditList),
        (status = 400, description = "`validation_failed`", body = IdentityError),
    )
)]
async fn list_audit(
    app: Data<App>,
    _: SuperAdmin,
    query: Result<Query<AuditQuery>, Problem>,
) -> actix_web::Result<HttpResponse> {
    let Query(query) = query?;
    let filter = Filter {
        user: query.user,
        actor: query.actor,
        action: query.action,
        since: query.since.map(|at| at.naive_utc()),
        until: query.until.map(|at| at.naive_utc()),
        before: query.cursor,
        limit: query.limit.unwrap_or(PAGE),
    };
    Ok(HttpResponse::Ok().json(service::list(&app, filter).await?))
}
