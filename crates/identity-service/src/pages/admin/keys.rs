//! The keys that tokens are signed with.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use chrono::{DateTime, Utc};
use service_kit::http::Query;

use crate::error::Error;
use crate::origin::Origin;
use crate::pages::form::{Empty, Form};
use crate::pages::layout::Frame;
use crate::pages::notices::{DoneQuery, Notices};
use crate::pages::text;
use crate::pages::visitor::Administrator;
use crate::tokens::rotation::{self, KeyState, Rotated, RotationKind};

#[derive(Template)]
#[template(path = "admin/keys.html")]
struct KeysPage {
    frame: Frame,
    notices: Notices,
    keys: Vec<Key>,
}

#[derive(Template)]
#[template(path = "admin/rotate.html")]
struct RotatePage {
    frame: Frame,
}

/// A key without its secret half.
struct Key {
    kid: String,
    algorithm: String,
    state: KeyState,
    signs_from: DateTime<Utc>,
    retired_at: Option<DateTime<Utc>>,
    kept_until: Option<DateTime<Utc>>,
}

pub(super) async fn page(
    admin: Administrator,
    query: Query<DoneQuery>,
) -> Result<HttpResponse, Error> {
    let rows = rotation::list(&admin.visitor.app).await?;
    let now = admin.visitor.app.clock.now_naive();
    let keys = rows.into_iter().map(|row| Key {
        kept_until: rotation::gone_after(&row).map(|at| at.and_utc()),
        state: KeyState::of(&row, now),
        signs_from: row.signs_from.and_utc(),
        retired_at: row.retired_at.map(|at| at.and_utc()),
        kid: row.kid,
        algorithm: row.algorithm,
    });
    let page = KeysPage {
        frame: admin.visitor.frame("Keys"),
        notices: query.0.notices(),
        keys: keys.collect(),
    };
    Ok(admin.visitor.show(StatusCode::OK, &page))
}

pub(super) async fn ask(admin: Administrator) -> HttpResponse {
    let page = RotatePage {
        frame: admin.visitor.frame("Rotate the signing keys"),
    };
    admin.visitor.show(StatusCode::OK, &page)
}

pub(super) async fn rotate(form: Form<Empty>, origin: Origin) -> actix_web::Result<HttpResponse> {
    let (admin, _) = form.by_administrator().await?;
    let origin = origin.of_admin(&admin.admin);
    let app = &admin.visitor.app;
    let rotation = rotation::rotate(app, &origin, RotationKind::Published).await?;
    let changed = |key: &Rotated| key.changed;
    let done = if changed(&rotation.es256) || rotation.rs256.as_ref().is_some_and(changed) {
        "rotated"
    } else {
        "key-waits"
    };
    Ok(admin.visitor.see_other(&format!("/admin/keys?done={done}")))
}
