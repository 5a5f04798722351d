//! Past sessions: statistics as charts and tables, and the list of all sessions.

mod charts;
mod range;
mod session_list;
mod statistics;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/look-back").get(statistics::page))
        .service(endpoint("/look-back/sessions").get(session_list::page));
}
