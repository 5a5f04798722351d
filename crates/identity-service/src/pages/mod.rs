//! The hosted pages: HTML made on the server, working without JavaScript. A page is a handler here and a
//! template in `templates/`; what it shows and does is the work of the same services as the API's.

mod assets;
pub(crate) mod cookies;
pub(crate) mod form;
pub(crate) mod layout;
pub(crate) mod return_to;
mod sign_in;
pub(crate) mod visitor;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(crate) use cookies::Cookies;
pub(crate) use layout::{render_problem, wants_page};

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/assets/{file}").get(assets::asset))
        .service(
            endpoint("/login")
                .get(sign_in::sign_in_page)
                .post(sign_in::sign_in),
        )
        .service(endpoint("/logout").post(sign_in::sign_out));
}
