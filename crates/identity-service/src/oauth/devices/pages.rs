//! The page on which a user enters the code of a device.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use messages::{Text, t};
use serde::Deserialize;
use service_kit::http::{Query, endpoint};

use super::service::{self, PendingDevice};
use super::user_code::UserCode;
use crate::error::Error;
use crate::oauth::authorize::Decision;
use crate::oauth::consents;
use crate::oauth::scopes::{self, ScopeDescription};
use crate::pages::form::Form;
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::{SignedInVisitor, Visitor};
use crate::request_context::RequestContext;

pub(crate) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/device").get(device_page).post(enter));
}

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage<'a> {
    frame: PageFrame,
    user_code: &'a str,
    problem: Option<Text>,
}

#[derive(Template)]
#[template(path = "device_confirm.html")]
struct DeviceConfirmPage<'a> {
    frame: PageFrame,
    client: &'a str,
    username: &'a str,
    user_code: String,
    lines: Vec<ScopeDescription>,
}

#[derive(Template)]
#[template(path = "device_done.html")]
struct DonePage<'a> {
    frame: PageFrame,
    client: &'a str,
    allowed: bool,
}

#[derive(Deserialize)]
struct DeviceQuery {
    #[serde(default)]
    user_code: String,
}

#[derive(Deserialize)]
struct DeviceForm {
    user_code: String,
    /// Present once the user has seen what the client requests.
    decision: Option<Decision>,
}

async fn device_page(caller: SignedInVisitor, query: Query<DeviceQuery>) -> HttpResponse {
    // A link can prefill the field, but only with text that could be a code.
    let code = UserCode::parse(&query.0.user_code).map(|code| code.shown());
    show_entry(&caller.visitor, &code.unwrap_or_default(), None)
}

async fn enter(form: Form<DeviceForm>, context: RequestContext) -> actix_web::Result<HttpResponse> {
    let (caller, fields) = form.by_caller()?;
    let (visitor, user) = (&caller.visitor, &caller.user);
    let Some(code) = UserCode::parse(&fields.user_code) else {
        let problem = Some(t("oauth-device-code-malformed"));
        return Ok(show_entry(visitor, &fields.user_code, problem));
    };
    let Some(pending) = service::find_pending(&visitor.app, user, &code, &context).await? else {
        return Ok(show_entry(visitor, &code.shown(), Some(t(UNKNOWN))));
    };
    let Some(decision) = fields.decision else {
        return Ok(show_question(&caller, &code, &pending).await?);
    };
    let allow = decision == Decision::Allow;
    let name = pending.client.name.clone();
    match service::decide(&visitor.app, user, code, pending, allow, &context).await? {
        true => Ok(show_done(visitor, &name, allow)),
        false => Ok(show_entry(visitor, "", Some(t(UNKNOWN)))),
    }
}

/// The message about a code that no pending device has.
const UNKNOWN: &str = "oauth-device-code-unknown";

fn show_entry(visitor: &Visitor, user_code: &str, problem: Option<Text>) -> HttpResponse {
    let status = match problem {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    let page = DevicePage {
        frame: visitor.frame(t("oauth-device-title")),
        user_code,
        problem,
    };
    visitor.show(status, &page)
}

async fn show_question(
    caller: &SignedInVisitor,
    code: &UserCode,
    pending: &PendingDevice,
) -> Result<HttpResponse, Error> {
    let (app, id) = (&caller.visitor.app, caller.user.account.id);
    let before = consents::service::find_allowed(app, id, &pending.client.id).await?;
    let page = DeviceConfirmPage {
        frame: caller.visitor.frame(t("oauth-allow")),
        client: &pending.client.name,
        username: &caller.user.account.username,
        user_code: code.shown(),
        lines: scopes::lines(pending.scope, before.unwrap_or_default()),
    };
    Ok(caller.visitor.show(StatusCode::OK, &page))
}

fn show_done(visitor: &Visitor, client: &str, allowed: bool) -> HttpResponse {
    let title = match allowed {
        true => t("oauth-device-connected"),
        false => t("oauth-device-denied"),
    };
    let page = DonePage {
        frame: visitor.frame(title),
        client,
        allowed,
    };
    visitor.show(StatusCode::OK, &page)
}
