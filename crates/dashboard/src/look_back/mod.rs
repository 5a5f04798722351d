//! Past sessions: statistics as charts and tables, and the list of all sessions.

mod charts;
mod figures;
mod list;
mod range;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/look-back").get(figures::page))
        .service(endpoint("/look-back/sessions").get(list::page));
}
