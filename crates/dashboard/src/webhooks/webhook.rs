use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::{Path, Query};
use web_kit::text::{Pager, with_query};

use super::bodies::{Deliveries, Delivery, EVENTS, Webhook, WebhookBody, WebhookForm};
use crate::form_messages::{DoneQuery, FormMessages};
use crate::page_frame::PageFrame;
use crate::text::TimeFormatter;
use crate::visitor::SignedInVisitor;

#[derive(Debug, Default, Deserialize)]
pub(super) struct WebhookQuery {
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "webhooks/webhook.html")]
struct WebhookPage<'a> {
    frame: PageFrame,
    webhook: &'a Webhook,
    /// Who configured a paused webhook.
    creator: Option<String>,
    input: WebhookForm,
    secret_since: String,
    deliveries: Vec<(&'a Delivery, String)>,
    pager: Pager,
}

pub(super) async fn page(
    user: SignedInVisitor,
    Path((id,)): Path<(i64,)>,
    query: Query<WebhookQuery>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let messages = done.0.messages();
    show(&user, id, messages, None, &query.0.cursor).await
}

pub(super) async fn show(
    user: &SignedInVisitor,
    id: i64,
    messages: FormMessages,
    input: Option<WebhookForm>,
    cursor: &str,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (user.call(), format!("/api/webhooks/{id}"));
    let log = with_query(
        &format!("{path}/deliveries"),
        &[("limit", "20"), ("cursor", cursor)],
    );
    let (data, WebhookBody { webhook }, log) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<WebhookBody>(&path),
        call.get::<Deliveries>(&log),
    ))?;
    let (zone, here) = (
        TimeFormatter::new(&data.timezone),
        format!("/settings/webhooks/{id}"),
    );
    let creator = call.creator(webhook.created_by, webhook.client_id.as_deref());
    let creator = match webhook.status.as_str() {
        "paused" => Some(creator.await),
        _ => None,
    };
    let calls = log.deliveries.iter();
    let page = WebhookPage {
        frame: user.frame(t("webhooks-webhook"), &data).with(messages),
        input: input.unwrap_or_else(|| WebhookForm::from_webhook(&webhook)),
        secret_since: zone.moment(&webhook.secret_changed_at),
        deliveries: calls
            .map(|call| (call, zone.moment(&call.created_at)))
            .collect(),
        pager: Pager {
            previous: (!cursor.is_empty()).then(|| here.clone()),
            next: log
                .next_cursor
                .map(|next| with_query(&here, &[("cursor", &next)])),
        },
        webhook: &webhook,
        creator,
    };
    Ok(user.show(page.frame.status(), &page))
}
