//! Webhooks: programs that are told of sessions, one's own and those of the teams that one manages.

mod bodies;
mod changes;
mod list;
mod one;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(
        endpoint("/settings/webhooks")
            .get(list::page)
            .post(list::create),
    )
    .service(
        endpoint("/settings/webhooks/{id}")
            .get(one::page)
            .post(changes::save),
    )
    .service(endpoint("/settings/webhooks/{id}/test").post(changes::test))
    .service(endpoint("/settings/webhooks/{id}/replay").post(changes::replay))
    .service(endpoint("/settings/webhooks/{id}/secret").post(changes::rotate_secret))
    .service(endpoint("/settings/webhooks/{id}/delete").post(changes::delete));
}
