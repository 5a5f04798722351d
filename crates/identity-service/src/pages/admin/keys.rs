//! The signing keys.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;
use service_kit::http::Query;

use crate::error::Error;
use crate::pages::form::{EmptyForm, Form};
use crate::pages::form_messages::DoneQuery;
use crate::pages::page_frame::PageFrame;
use crate::pages::text;
use crate::pages::visitor::Administrator;
use crate::request_context::RequestContext;
use crate::tokens::key_rotation::{self, Key, KeyState, RotatedKey, RotationKind};

#[derive(Template)]
#[template(path = "admin/keys.html")]
struct KeysPage {
    frame: PageFrame,
    keys: Vec<Key>,
}

#[derive(Template)]
#[template(path = "admin/rotate.html")]
struct RotatePage {
    frame: PageFrame,
}

pub(super) async fn page(
    admin: Administrator,
    query: Query<DoneQuery>,
) -> Result<HttpResponse, Error> {
    let page = KeysPage {
        frame: admin
            .visitor
            .frame(t("admin-keys"))
            .with(query.0.messages()),
        keys: key_rotation::list_keys(&admin.visitor.app).await?,
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

pub(super) async fn ask(admin: Administrator) -> HttpResponse {
    let page = RotatePage {
        frame: admin.visitor.frame(t("admin-rotate")),
    };
    admin.visitor.show(StatusCode::OK, &page)
}

pub(super) async fn rotate(
    form: Form<EmptyForm>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (admin, _) = form.by_administrator().await?;
    let context = context.for_admin(&admin.admin);
    let app = &admin.visitor.app;
    let rotation = key_rotation::rotate(app, &context, RotationKind::Published).await?;
    let changed = |key: &RotatedKey| key.changed;
    let done = if changed(&rotation.es256) || rotation.rs256.as_ref().is_some_and(changed) {
        "rotated"
    } else {
        "key-waits"
    };
    Ok(admin.visitor.see_other(&format!("/admin/keys?done={done}")))
}
