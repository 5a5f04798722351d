use actix_web::HttpResponse;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::http::Path;

use super::bodies::{Typed, WithSecret, said};
use super::list::show_secret;
use super::one::show;
use crate::api::ApiError;
use crate::form::{Empty, Form};
use crate::notices::Notices;
use crate::visitor::Member;

#[derive(Deserialize)]
pub(super) struct Replay {
    delivery: String,
}

/// Changes what a webhook is told, or where.
pub(super) async fn save(
    form: Form<Typed>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    let path = format!("/api/webhooks/{id}");
    let sent = member
        .call()
        .send::<Value>(Method::PUT, &path, fields.body());
    match sent.await {
        Ok(_) => Ok(done(&member, id, "webhook")),
        Err(error) => {
            let refused = member.on(error.about_the_form())?;
            show(&member, id, said(&refused), Some(fields), "").await
        }
    }
}

/// Has it called once, to see whether it works.
pub(super) async fn test(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/test");
    let sent = form
        .member
        .call()
        .send(Method::POST, &path, json!({}))
        .await;
    settle(&form.member, id, sent, "called").await
}

/// Keeps one that was paused.
pub(super) async fn adopt(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/adopt");
    let sent = form
        .member
        .call()
        .send(Method::POST, &path, json!({}))
        .await;
    settle(&form.member, id, sent, "kept").await
}

/// Has a call made once more.
pub(super) async fn replay(
    form: Form<Replay>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    // What is no id names nothing, and must not name another path.
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if fields.delivery.is_empty() || !fields.delivery.bytes().all(is_id) {
        return Err(service_kit::Problem::not_found().into());
    }
    let path = format!("/api/webhooks/{id}/deliveries/{}/replay", fields.delivery);
    let sent = member.call().send(Method::POST, &path, json!({})).await;
    settle(&member, id, sent, "called").await
}

/// Gives it another secret; the old one signs nothing more.
pub(super) async fn rotate_secret(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/rotate-secret");
    let call = form.member.call();
    // Before the secret is made: nothing must fail between it and its only page.
    let data = form.member.on(call.get("/api/user/data").await)?;
    let made = call
        .send::<WithSecret>(Method::POST, &path, json!({}))
        .await;
    let made = form.member.on(made)?;
    Ok(show_secret(&form.member, &data, &made, false))
}

/// Removes it.
pub(super) async fn delete(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}");
    let sent = form
        .member
        .call()
        .send::<Value>(Method::DELETE, &path, json!({}));
    form.member.on(sent.await)?;
    Ok(form
        .member
        .see_other("/settings/webhooks?done=webhook-deleted"))
}

async fn settle(
    member: &Member,
    id: i64,
    sent: Result<Value, ApiError>,
    name: &str,
) -> actix_web::Result<HttpResponse> {
    match sent {
        Ok(_) => Ok(done(member, id, name)),
        Err(error) => {
            let refused = member.on(error.about_the_form())?;
            show(member, id, Notices::of(&refused, &[]), None, "").await
        }
    }
}

fn done(member: &Member, id: i64, name: &str) -> HttpResponse {
    member.see_other(&format!("/settings/webhooks/{id}?done={name}"))
}
