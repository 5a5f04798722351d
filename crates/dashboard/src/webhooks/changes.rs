use actix_web::HttpResponse;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::http::Path;

use super::bodies::{Typed, WebhookWithSecret, said};
use super::list::show_secret;
use super::one::show;
use crate::form::{Empty, Form};
use crate::visitor::Member;

#[derive(Deserialize)]
pub(super) struct ReplayForm {
    delivery: String,
}

/// Changes the events or the address of a webhook.
pub(super) async fn save(
    form: Form<Typed>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    let path = format!("/api/webhooks/{id}");
    match member
        .submit::<Value>(Method::PUT, &path, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&member, id, "webhook")),
        Err(refused) => show(&member, id, said(&refused), Some(fields), "").await,
    }
}

/// Requests a test call of the webhook.
pub(super) async fn test(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    settle(&form.member, id, "test", "called").await
}

/// Takes over a paused webhook.
pub(super) async fn adopt(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    settle(&form.member, id, "adopt", "kept").await
}

/// Requests that a delivery is sent again.
pub(super) async fn replay(
    form: Form<ReplayForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { member, fields } = form;
    // An invalid id names nothing, and must not lead to another path.
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if fields.delivery.is_empty() || !fields.delivery.bytes().all(is_id) {
        return Err(service_kit::Problem::not_found().into());
    }
    let what = format!("deliveries/{}/replay", fields.delivery);
    settle(&member, id, &what, "called").await
}

/// Replaces the secret; the old one signs nothing more.
pub(super) async fn rotate_secret(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/rotate-secret");
    let member = form.member;
    // Loaded before the secret is created: nothing must fail between its creation and the only page with it.
    let data = member.on(member.call().user_data().await)?;
    let made: WebhookWithSecret = member.order(Method::POST, &path).await?;
    Ok(show_secret(&member, &data, &made, false))
}

pub(super) async fn delete(
    form: Form<Empty>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}");
    form.member.order::<Value>(Method::DELETE, &path).await?;
    Ok(form
        .member
        .see_other("/settings/webhooks?done=webhook-deleted"))
}

/// Requests something whose result the page of the webhook shows.
async fn settle(
    member: &Member,
    id: i64,
    what: &str,
    name: &str,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/{what}");
    let sent = member.submit::<Value>(Method::POST, &path, json!({}));
    match sent.await? {
        Ok(_) => Ok(done(member, id, name)),
        Err(refused) => show(member, id, refused.notices(&[]), None, "").await,
    }
}

fn done(member: &Member, id: i64, name: &str) -> HttpResponse {
    member.see_other(&format!("/settings/webhooks/{id}?done={name}"))
}
