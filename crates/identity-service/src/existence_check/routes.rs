use actix_web::HttpResponse;
use actix_web::web::{Data, ServiceConfig};
use auth_types::wire::{ExistenceAnswer, ExistenceRequest, IdentityError};
use service_kit::http::{Json, endpoint};

use super::service;
use crate::app::App;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/auth/existence").post(existence));
}

/// Returns whether an account, team or membership exists. For the product's own services only: the request is sealed
/// with the key that they share.
#[utoipa::path(
    post, path = "/api/auth/existence", operation_id = "checkExistence", tag = "services", request_body = ExistenceRequest,
    responses(
        (status = 200, description = "The result", body = ExistenceAnswer),
        (status = 403, description = "`forbidden`: the request was not sealed by a service of this product", body = IdentityError),
    )
)]
async fn existence(
    app: Data<App>,
    body: Json<ExistenceRequest>,
) -> actix_web::Result<HttpResponse> {
    let answer = service::check_existence(&app, &body.into_inner()?.sealed).await?;
    Ok(HttpResponse::Ok().json(answer))
}
