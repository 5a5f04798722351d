use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::http::{Path, endpoint};

use super::service;
use super::wire::ApplicationsResponse;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/applications").get(list_applications))
        .service(endpoint("/api/auth/applications/{client_id}").delete(revoke_application));
}

/// Lists the applications with access to the caller's account, by name.
#[utoipa::path(
    get, path = "/api/auth/applications", tag = "oauth", security(("bearer" = [])),
    responses(
        (status = 200, description = "Up to 200 applications with the caller's consent, and the applications with a session", body = ApplicationsResponse),
        (status = 403, description = "`insufficient_scope`", body = IdentityError),
    )
)]
async fn list_applications(app: Data<App>, caller: CurrentUser) -> Result<HttpResponse, Error> {
    let applications = service::list_applications(&app, caller.account.id).await?;
    Ok(HttpResponse::Ok().json(ApplicationsResponse {
        total: applications.len(),
        applications,
    }))
}

/// Revokes an application's access: its sessions end, and it must ask for consent again.
#[utoipa::path(
    delete, path = "/api/auth/applications/{client_id}", tag = "oauth", security(("bearer" = [])),
    params(("client_id" = String, Path, description = "The `client_id` from the list of applications")),
    responses(
        (status = 204, description = "The access was revoked."),
        (status = 403, description = "`insufficient_scope`", body = IdentityError),
        (status = 404, description = "`not_found`: the application has no access", body = IdentityError),
    )
)]
async fn revoke_application(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
    client_id: Path<(String,)>,
) -> Result<HttpResponse, Error> {
    service::revoke_application(&app, &caller, client_id.0.0, &context).await?;
    Ok(HttpResponse::NoContent().finish())
}
