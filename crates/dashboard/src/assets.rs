//! The files that pages load.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use service_kit::Problem;
use service_kit::http::Path;
use web_kit::Asset;
use web_kit::assets::{self, STYLESHEET};

/// What only the dashboard's pages have: the timer and the charts.
pub(crate) static OWN_STYLESHEET: LazyLock<Asset> =
    LazyLock::new(|| Asset::stylesheet("dashboard", include_str!("../assets/dashboard.css")));

/// Counts down, in the page and in its title.
pub(crate) static TIMER: LazyLock<Asset> =
    LazyLock::new(|| Asset::module("timer", include_str!("../assets/timer.js")));

/// Keeps a page up to date with what happens elsewhere.
pub(crate) static LIVE: LazyLock<Asset> =
    LazyLock::new(|| Asset::module("live", include_str!("../assets/live.js")));

/// Serves one of them.
pub(crate) async fn asset(name: Path<(String,)>) -> Result<HttpResponse, Problem> {
    assets::serve(&name.0.0, &[&STYLESHEET, &OWN_STYLESHEET, &TIMER, &LIVE])
}
