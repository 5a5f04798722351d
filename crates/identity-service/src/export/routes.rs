use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION};
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::IdentityError;
use service_kit::http::endpoint;

use super::service;
use super::wire::ExportResponse;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/export").get(export));
}

/// Returns all stored data about the caller as a file to save. Limited to ten requests an hour.
#[utoipa::path(
    get, path = "/api/auth/export", operation_id = "exportAccount", tag = "accounts", security(("bearer" = [])),
    responses(
        (status = 200, description = "The JSON document, with `Content-Disposition: attachment`", body = ExportResponse),
        (status = 429, description = "`rate_limited`; see `Retry-After`", body = IdentityError),
    )
)]
async fn export(
    app: Data<App>,
    caller: CurrentUser,
    context: RequestContext,
) -> Result<HttpResponse, Error> {
    let document = service::export(&app, &caller, &context).await?;
    Ok(as_file(&caller, &document))
}

/// Returns the document as a file to save.
pub(crate) fn as_file(caller: &CurrentUser, document: &ExportResponse) -> HttpResponse {
    // A username contains no character that needs quoting.
    let name = format!(
        "attachment; filename=\"holdfast-{}.json\"",
        caller.account.username
    );
    HttpResponse::Ok()
        .insert_header((CONTENT_DISPOSITION, name))
        .insert_header((CACHE_CONTROL, "no-store"))
        .json(document)
}
