//! The user's own projects; those of teams are in `team`.

mod bodies;
mod changes;
mod pages;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

use bodies::PATH;

use crate::form::go_up;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    let of_one = |rest: &str| endpoint(&format!("{PATH}/{{id}}{rest}"));
    cfg.service(endpoint(PATH).get(pages::list).post(changes::create))
        .service(of_one("").get(pages::one).post(changes::save))
        .service(of_one("/archive").get(go_up).post(changes::archive));
}
