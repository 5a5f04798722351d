//! The hosted pages: server-rendered HTML that works without JavaScript. A page consists of a handler here and a template
//! in `templates/`. It uses the same services as the API.

mod account;
mod admin;
mod assets;
pub(crate) mod form;
mod form_messages;
mod invitation;
mod mail_links;
pub(crate) mod page_frame;
mod register;
mod result;
mod sign_in;
mod teams;
mod text;
pub(crate) mod visitor;

use actix_web::web::ServiceConfig;
use form::RESUME;
use service_kit::http::endpoint;

pub(crate) use page_frame::{render_problem, wants_page};

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/assets/{file}").get(assets::asset))
        .service(
            endpoint("/login")
                .get(sign_in::sign_in_page)
                .post(sign_in::sign_in),
        )
        .service(
            endpoint("/login/code")
                .get(sign_in::first_step)
                .post(sign_in::sign_in_with_code),
        )
        .service(endpoint("/logout").post(sign_in::sign_out))
        .service(endpoint(RESUME).get(form::resume))
        .service(
            endpoint("/register")
                .get(register::register_page)
                .post(register::register),
        )
        .service(
            endpoint("/forgot-password")
                .get(mail_links::forgot_page)
                .post(mail_links::forgot),
        )
        .service(
            endpoint("/reset-password/{token}")
                .get(mail_links::reset_page)
                .post(mail_links::reset_password),
        )
        .service(
            endpoint("/verify-email/{token}")
                .get(mail_links::verify_page)
                .post(mail_links::verify_email),
        )
        .service(
            endpoint("/invitations/{token}")
                .get(invitation::invitation_page)
                .post(invitation::answer),
        )
        .service(endpoint("/done/{what}").get(result::done_page))
        .service(endpoint("/").get(result::home));
    account::routes(cfg);
    teams::routes(cfg);
    admin::routes(cfg);
}
