use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use service_kit::http::Query;
use web_kit::form::check_site;
use web_kit::text::with_query;

use crate::api::chunks;
use crate::visitor::SignedInVisitor;

#[derive(Deserialize)]
pub(super) struct ExportQuery {
    #[serde(default)]
    format: String,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
}

/// Forwards the user's sessions as a file, as the service creates it.
pub(super) async fn download(
    user: SignedInVisitor,
    query: Query<ExportQuery>,
) -> actix_web::Result<HttpResponse> {
    // A page of another site must not make anybody save a file.
    check_site(user.visitor.request.headers())?;
    let ExportQuery { format, from, to } = query.0;
    let pairs = [("format", &*format), ("from", &from), ("to", &to)];
    let path = with_query("/api/sessions/export", &pairs);
    let file = user.on(user.call().open(&path).await)?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((CACHE_CONTROL, "no-store"));
    for name in [CONTENT_TYPE, CONTENT_DISPOSITION] {
        if let Some(value) = file.headers().get(name.as_str()) {
            answer.insert_header((name, value.as_bytes()));
        }
    }
    Ok(user.add_cookies(answer.streaming(chunks(file))))
}
