use actix_web::HttpResponse;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use service_kit::http::Path;

use super::bodies::{WebhookForm, WebhookWithSecret, messages_for};
use super::list::show_secret;
use super::webhook::show;
use crate::form::{EmptyForm, Form};
use crate::visitor::SignedInVisitor;

#[derive(Deserialize)]
pub(super) struct ReplayForm {
    delivery: String,
}

/// Changes the events or the address of a webhook.
pub(super) async fn save(
    form: Form<WebhookForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    let path = format!("/api/webhooks/{id}");
    match user
        .submit::<Value>(Method::PUT, &path, fields.body())
        .await?
    {
        Ok(_) => Ok(done(&user, id, "webhook")),
        Err(refused) => show(&user, id, messages_for(&refused), Some(fields), "").await,
    }
}

pub(super) async fn test(
    form: Form<EmptyForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    request_action(&form.user, id, "test", "called").await
}

pub(super) async fn adopt(
    form: Form<EmptyForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    request_action(&form.user, id, "adopt", "kept").await
}

/// Requests that a delivery is sent again.
pub(super) async fn replay(
    form: Form<ReplayForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let Form { user, fields } = form;
    // An invalid id names nothing, and must not lead to another path.
    let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if fields.delivery.is_empty() || !fields.delivery.bytes().all(is_id) {
        return Err(service_kit::Problem::not_found().into());
    }
    let what = format!("deliveries/{}/replay", fields.delivery);
    request_action(&user, id, &what, "called").await
}

/// Replaces the secret. For a day, the service also signs with the old one.
pub(super) async fn rotate_secret(
    form: Form<EmptyForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/rotate-secret");
    let user = form.user;
    // Loaded before the secret is created: nothing must fail between its creation and the only page with it.
    let data = user.on(user.call().user_data().await)?;
    let made: WebhookWithSecret = user.request(Method::POST, &path).await?;
    Ok(show_secret(&user, &data, &made, false))
}

pub(super) async fn delete(
    form: Form<EmptyForm>,
    Path((id,)): Path<(i64,)>,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}");
    form.user.request::<Value>(Method::DELETE, &path).await?;
    Ok(form
        .user
        .see_other("/settings/webhooks?done=webhook-deleted"))
}

/// Requests something whose result the page of the webhook shows.
async fn request_action(
    user: &SignedInVisitor,
    id: i64,
    what: &str,
    name: &str,
) -> actix_web::Result<HttpResponse> {
    let path = format!("/api/webhooks/{id}/{what}");
    let sent = user.submit::<Value>(Method::POST, &path, json!({}));
    match sent.await? {
        Ok(_) => Ok(done(user, id, name)),
        Err(refused) => show(user, id, refused.messages(&[]), None, "").await,
    }
}

fn done(user: &SignedInVisitor, id: i64, name: &str) -> HttpResponse {
    user.see_other(&format!("/settings/webhooks/{id}?done={name}"))
}
