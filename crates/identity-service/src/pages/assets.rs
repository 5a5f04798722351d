//! The static files of the pages.

use actix_web::HttpResponse;
use service_kit::Problem;
use service_kit::http::Path;
use web_kit::assets::{self, STYLESHEET};

pub(super) async fn asset(name: Path<(String,)>) -> Result<HttpResponse, Problem> {
    assets::serve(&name.0.0, &[&STYLESHEET])
}
