//! Sessions after their plan: finishing them, showing them, and correcting them later.

mod finish_form;
mod finished_page;
mod review;
mod session_page;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(
        endpoint("/sessions/{id}/finish")
            .get(finish_form::page)
            .post(finish_form::submit),
    )
    .service(endpoint("/sessions/{id}/finished").get(finished_page::page))
    .service(
        endpoint("/sessions/{id}")
            .get(session_page::page)
            .post(session_page::save),
    );
}
