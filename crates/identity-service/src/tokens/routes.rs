use actix_web::HttpResponse;
use actix_web::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL};
use actix_web::web::{Data, ServiceConfig};
use serde::Serialize;
use serde_json::Value;
use service_kit::http::endpoint;
use utoipa::ToSchema;

use super::SigningAlgorithm;
use super::rotation::JWKS_MAX_AGE_SECONDS;
use crate::app::App;
use crate::error::Error;

/// The public halves of the keys that access tokens and id tokens are signed with (RFC 7517 section 5).
#[derive(Serialize, ToSchema)]
pub(crate) struct JwksResponse {
    /// Those of access tokens first, newest first: those that sign soon, those that sign, and retired ones for
    /// as long as something alive was signed with them.
    #[schema(value_type = Vec<Object>)]
    keys: Vec<Value>,
}

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/.well-known/jwks.json").get(jwks));
}

/// The public keys, for who verifies tokens by himself. A token says in `kid` which one signed it;
/// on an unknown one, read this again.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", tag = "tokens",
    responses(
        (status = 200, description = "The keys; may be kept for 5 minutes", body = JwksResponse),
    )
)]
async fn jwks(app: Data<App>) -> Result<HttpResponse, Error> {
    let mut keys = Vec::new();
    for algorithm in SigningAlgorithm::ALL {
        keys.extend_from_slice(&app.keys(algorithm).current().await?.public);
    }
    let max_age = format!("public, max-age={JWKS_MAX_AGE_SECONDS}");
    Ok(HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, max_age))
        // Pages of any site that verify id tokens read it.
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .json(JwksResponse { keys }))
}
