//! Administration with a browser, for a SUPERADMIN with a recent sign-in. For others these pages do not exist.

mod actions;
mod audit;
mod client_form;
mod clients;
mod keys;
mod users;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;
use web_kit::cookies::set_cookie;

use super::form::{EmptyForm, Form};
use super::visitor::{Administrator, SignedInVisitor, sign_in_path};
use crate::request_context::RequestContext;
use crate::sessions::revocation;

const HOME: &str = "/admin";

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint(HOME).get(home))
        .service(endpoint("/admin/sign-in-again").post(sign_in_again))
        .service(endpoint("/admin/users").get(users::list))
        .service(endpoint("/admin/users/{user_id}").get(users::page))
        .service(endpoint("/admin/users/{user_id}/plan").post(users::change_plan))
        .service(
            endpoint("/admin/users/{user_id}/{action}")
                .get(actions::ask)
                .post(actions::act),
        )
        .service(endpoint("/admin/clients").get(clients::list))
        .service(
            endpoint("/admin/clients/new")
                .get(clients::create_page)
                .post(clients::create),
        )
        .service(endpoint("/admin/clients/{client_id}").get(clients::page))
        .service(
            endpoint("/admin/clients/{client_id}/edit")
                .get(clients::edit_page)
                .post(clients::edit),
        )
        .service(
            endpoint("/admin/clients/{client_id}/rotate-secret")
                .get(clients::ask_rotate)
                .post(clients::rotate),
        )
        .service(
            endpoint("/admin/clients/{client_id}/delete")
                .get(clients::ask_delete)
                .post(clients::delete),
        )
        .service(endpoint("/admin/keys").get(keys::page))
        .service(
            endpoint("/admin/keys/rotate")
                .get(keys::ask)
                .post(keys::rotate),
        )
        .service(endpoint("/admin/audit").get(audit::page));
}

async fn home(admin: Administrator) -> HttpResponse {
    admin.visitor.see_other("/admin/users")
}

/// Ends a sign-in that is too old for administration, and starts a new one.
async fn sign_in_again(
    form: Form<EmptyForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (SignedInVisitor { visitor, user }, _) = form.by_caller()?;
    revocation::logout(&visitor.app, &user, None, &context).await?;
    let mut answer = visitor.see_other(&sign_in_path(HOME));
    set_cookie(&mut answer, &visitor.app.cookies.sign_out());
    Ok(answer)
}
