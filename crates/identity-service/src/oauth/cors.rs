//! Pages without a server call the token, userinfo and revocation endpoints from the origins of their redirect URIs.
//!
//! A preflight request names no client, so any registered origin may send requests and read errors, which say nothing about an
//! account. Only an origin of the client whose response it is may read that response.

use actix_web::{HttpMessage as _, HttpRequest};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use service_kit::server::cors::{OriginMayRead, origin};

use super::clients::comparable_origin;
use super::clients::model::OAuthClient;
use super::clients::service::list_origins;
use crate::app::App;

const PATHS: [&str; 3] = [
    "/api/oauth/token",
    "/api/oauth/userinfo",
    "/api/oauth/revoke",
];

/// Whether any client registered this origin, for the paths that pages may call.
pub(crate) fn is_registered<'a>(req: &'a HttpRequest, origin: &'a str) -> LocalBoxFuture<'a, bool> {
    async move {
        let (true, Ok(app)) = (PATHS.contains(&req.path()), App::from_request(req)) else {
            return false;
        };
        let origins = list_origins(&app).await;
        origins.is_ok_and(|origins| origins.contains(comparable_origin(origin)))
    }
    .boxed_local()
}

/// Lets pages of the request's origin read the response if the client registered that origin.
pub(crate) fn allow_origin_of(client: &OAuthClient, req: &HttpRequest) {
    let origin = origin(req).and_then(|origin| origin.to_str().ok());
    if origin.is_some_and(|origin| client.has_origin(origin)) {
        req.extensions_mut().insert(OriginMayRead);
    }
}
