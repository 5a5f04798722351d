use actix_web::HttpResponse;
use askama::Template;
use serde::Deserialize;
use service_kit::http::{Path, Query};
use web_kit::text::{Pager, with_query};

use super::bodies::{Deliveries, Delivery, EVENTS, One, Typed, Webhook};
use crate::frame::PageFrame;
use crate::notices::{DoneQuery, FormMessages};
use crate::text::{self, TimeFormatter};
use crate::visitor::Member;

#[derive(Debug, Default, Deserialize)]
pub(super) struct WebhookQuery {
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "webhooks/one.html")]
struct OnePage<'a> {
    frame: PageFrame,
    webhook: &'a Webhook,
    /// Who configured a paused webhook.
    maker: Option<String>,
    typed: Typed,
    secret_since: String,
    deliveries: Vec<(&'a Delivery, String)>,
    pager: Pager,
}

/// Shows a webhook with its deliveries.
pub(super) async fn page(
    member: Member,
    Path((id,)): Path<(i64,)>,
    query: Query<WebhookQuery>,
    done: Query<DoneQuery>,
) -> actix_web::Result<HttpResponse> {
    let notices = done.0.notices();
    show(&member, id, notices, None, &query.0.cursor).await
}

pub(super) async fn show(
    member: &Member,
    id: i64,
    notices: FormMessages,
    typed: Option<Typed>,
    cursor: &str,
) -> actix_web::Result<HttpResponse> {
    let (call, path) = (member.call(), format!("/api/webhooks/{id}"));
    let log = with_query(
        &format!("{path}/deliveries"),
        &[("limit", "20"), ("cursor", cursor)],
    );
    let (data, One { webhook }, log) = member.on(tokio::try_join!(
        call.user_data(),
        call.get::<One>(&path),
        call.get::<Deliveries>(&log),
    ))?;
    let (face, here) = (
        TimeFormatter::of(&data.timezone),
        format!("/settings/webhooks/{id}"),
    );
    let maker = call.maker(webhook.created_by, webhook.client_id.as_deref());
    let maker = match webhook.status.as_str() {
        "paused" => Some(maker.await),
        _ => None,
    };
    let calls = log.deliveries.iter();
    let page = OnePage {
        frame: member.frame("Webhook", &data).with(notices),
        typed: typed.unwrap_or_else(|| Typed::of(&webhook)),
        secret_since: face.moment(&webhook.secret_changed_at),
        deliveries: calls
            .map(|call| (call, face.moment(&call.created_at)))
            .collect(),
        pager: Pager {
            previous: (!cursor.is_empty()).then(|| here.clone()),
            next: log
                .next_cursor
                .map(|next| with_query(&here, &[("cursor", &next)])),
        },
        webhook: &webhook,
        maker,
    };
    Ok(member.show(page.frame.status(), &page))
}
