//! Sessions after their plan: finishing them, showing them, and correcting them later.

mod finish;
mod finished;
mod review;
mod session_page;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(
        endpoint("/sessions/{id}/finish")
            .get(finish::page)
            .post(finish::submit),
    )
    .service(endpoint("/sessions/{id}/finished").get(finished::page))
    .service(
        endpoint("/sessions/{id}")
            .get(session_page::page)
            .post(session_page::save),
    );
}
