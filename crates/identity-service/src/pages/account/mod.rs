//! The pages of a signed-in user's own account.

mod applications;
mod email;
mod export_and_deletion;
mod overview;
mod password;
mod photo;
mod profile;
mod second_factor;
mod sessions;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/account").get(overview::page))
        .service(
            endpoint("/account/profile")
                .get(profile::page)
                .post(profile::save),
        )
        .service(
            endpoint("/account/photo")
                .get(photo::page)
                .post(photo::upload),
        )
        .service(endpoint("/account/photo/remove").post(photo::remove))
        .service(
            endpoint("/account/email")
                .get(email::page)
                .post(email::change),
        )
        .service(
            endpoint("/account/password")
                .get(password::page)
                .post(password::change),
        )
        .service(endpoint("/account/export").get(export_and_deletion::export))
        .service(
            endpoint("/account/delete")
                .get(export_and_deletion::delete_page)
                .post(export_and_deletion::delete),
        );
    second_factor::routes(cfg);
    sessions::routes(cfg);
    applications::routes(cfg);
}
