//! The userinfo endpoint (OpenID Connect Core section 5.3).

use actix_web::http::StatusCode;
use actix_web::http::header::WWW_AUTHENTICATE;
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use serde_json::json;
use service_kit::Problem;
use utoipa::ToSchema;

use super::claims::ProfileClaims;
use super::clients::service::find_known_client;
use super::cors;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;

/// The claims that the scopes of the access token allow.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserinfoResponse {
    /// The id of the account, as in the ID token.
    sub: String,
    #[serde(flatten)]
    claims: ProfileClaims,
}

/// Returns the claims about the caller: all of them for a token without scopes. Pages of the token's client may read them.
pub(crate) async fn userinfo(
    app: &App,
    req: &HttpRequest,
    caller: &CurrentUser,
) -> Result<UserinfoResponse, Error> {
    let access = &caller.token.access;
    let client = match access.client_id() {
        Some(id) => find_known_client(app, id).await?,
        None => None,
    };
    if let Some(client) = &client {
        cors::allow_origin_of(client, req);
    }
    let groups = client.and_then(|client| client.metadata.groups_claim);
    Ok(UserinfoResponse {
        sub: caller.account.id.to_string(),
        claims: ProfileClaims::load(app, &caller.account, access.scope(), groups).await?,
    })
}

/// Reports a refusal in the header `WWW-Authenticate`, where clients look for it (RFC 6750 section 3.1). Without a token,
/// the header names no error.
pub(crate) fn refused(error: Error) -> actix_web::Result<HttpResponse> {
    let problem = Problem::from(&error);
    let (code, header) = match problem.status {
        StatusCode::UNAUTHORIZED if !matches!(error, Error::AuthenticationRequired) => {
            let sentence = &problem.message;
            let header = format!(r#"Bearer error="invalid_token", error_description="{sentence}""#);
            ("invalid_token", header)
        }
        StatusCode::FORBIDDEN => {
            let header = r#"Bearer error="insufficient_scope", scope="openid""#;
            ("insufficient_scope", header.to_owned())
        }
        _ => return Err(error.into()),
    };
    Ok(HttpResponse::build(problem.status)
        .insert_header((WWW_AUTHENTICATE, header))
        .json(json!({ "error": code, "error_description": problem.message })))
}
