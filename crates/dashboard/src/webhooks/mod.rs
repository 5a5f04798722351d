//! Webhooks: programs that receive events of sessions, those of the user and of teams that the user manages.

mod bodies;
mod changes;
mod list;
mod webhook;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

use crate::form::go_up;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    let of_one = |rest: &str| endpoint(&format!("/settings/webhooks/{{id}}{rest}")).get(go_up);
    cfg.service(
        endpoint("/settings/webhooks")
            .get(list::page)
            .post(list::create),
    )
    .service(
        endpoint("/settings/webhooks/{id}")
            .get(webhook::page)
            .post(changes::save),
    )
    .service(of_one("/test").post(changes::test))
    .service(of_one("/replay").post(changes::replay))
    .service(of_one("/secret").post(changes::rotate_secret))
    .service(of_one("/adopt").post(changes::adopt))
    .service(of_one("/delete").post(changes::delete));
}
