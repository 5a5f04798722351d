//! The files that pages load.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use service_kit::Problem;
use service_kit::http::Path;
use web_kit::Asset;
use web_kit::assets::{self, STYLESHEET};

/// The styles that only the dashboard's pages have, such as those of the timer and the charts.
pub(crate) static OWN_STYLESHEET: LazyLock<Asset> =
    LazyLock::new(|| Asset::stylesheet("dashboard", include_str!("../assets/dashboard.css")));

/// The script that counts down, in the page and in its title.
pub(crate) static TIMER: LazyLock<Asset> =
    LazyLock::new(|| Asset::module("timer", include_str!("../assets/timer.js")));

/// The worker that wakes the timer in a hidden tab.
pub(crate) static CLOCK: LazyLock<Asset> =
    LazyLock::new(|| Asset::module("clock", include_str!("../assets/clock.js")));

/// The script that keeps a page up to date with changes elsewhere.
pub(crate) static LIVE: LazyLock<Asset> =
    LazyLock::new(|| Asset::module("live", include_str!("../assets/live.js")));

pub(crate) async fn asset(name: Path<(String,)>) -> Result<HttpResponse, Problem> {
    let ours: [&Asset; 5] = [&STYLESHEET, &OWN_STYLESHEET, &TIMER, &CLOCK, &LIVE];
    assets::serve(&name.0.0, &ours)
}
