//! The files that pages load: one style sheet, under a name that changes with its content.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use service_kit::Problem;
use service_kit::crypto::sha256;
use service_kit::http::Path;

const STYLESHEET: &str = include_str!("../../assets/holdfast.css");

static STYLESHEET_PATH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = URL_SAFE_NO_PAD.encode(sha256(STYLESHEET.as_bytes()));
    hash.truncate(12);
    format!("/assets/holdfast-{hash}.css")
});

/// Where the style sheet is.
pub(crate) fn stylesheet_path() -> &'static str {
    STYLESHEET_PATH.as_str()
}

/// Serves it; a name of another version is not there.
pub(super) async fn asset(name: Path<(String,)>) -> Result<HttpResponse, Problem> {
    if stylesheet_path().strip_prefix("/assets/") != Some(name.0.0.as_str()) {
        return Err(Problem::not_found());
    }
    Ok(HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
        .body(STYLESHEET))
}
