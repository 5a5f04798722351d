use actix_web::HttpResponse;
use actix_web::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL};
use actix_web::web::{Data, ServiceConfig};
use serde::Serialize;
use serde_json::Value;
use service_kit::http::endpoint;
use utoipa::ToSchema;

use super::SigningAlgorithm;
use super::key_rotation::JWKS_MAX_AGE_SECONDS;
use crate::app::App;
use crate::error::Error;

/// Public keys for verifying access tokens and ID tokens (RFC 7517 section 5).
#[derive(Serialize, ToSchema)]
pub(crate) struct JwksResponse {
    /// Keys for access tokens first, newest first. The list includes keys that will sign soon, and retired keys until
    /// everything that they signed has expired.
    #[schema(value_type = Vec<Object>)]
    keys: Vec<Value>,
}

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/.well-known/jwks.json").get(jwks));
}

/// Returns the public keys for verifying tokens.
///
/// A token names its key in `kid`. If that key is not in a cached copy, request this document again.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", operation_id = "getJwks", tag = "tokens",
    responses(
        (status = 200, description = "The keys, which may be cached for 5 minutes", body = JwksResponse),
    )
)]
async fn jwks(app: Data<App>) -> Result<HttpResponse, Error> {
    let mut keys = Vec::new();
    for algorithm in SigningAlgorithm::ALL {
        keys.extend_from_slice(&app.keys(algorithm).published().await?.public);
    }
    let max_age = format!("public, max-age={JWKS_MAX_AGE_SECONDS}");
    Ok(HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, max_age))
        // Pages of any site may verify ID tokens.
        .insert_header((ACCESS_CONTROL_ALLOW_ORIGIN, "*"))
        .json(JwksResponse { keys }))
}
