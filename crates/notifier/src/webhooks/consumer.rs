use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use auth_types::UserId;
use broker::{Acknowledgement, Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue};
use db_kit::{DbError, inbox};
use diesel::QueryResult;
use event_types::{Event, EventData, UserChanged, WebhookConfigured, WebhookDue, WebhookReplayed};
use tokio::sync::Notify;

use super::{WebhookMedium, queries};
use crate::consumer::{acknowledge, data, decode};
use crate::delivery::{
    DeliveryRow, DeliveryStore, DeliveryTransaction, FinalState, Medium, NewDelivery, Settings,
};

/// The consumer's name in the inbox.
const CONSUMER: &str = "notify.webhooks";

/// A call expires after this time in any case. `Retry-After` can delay its attempts, and the webhook's settings may
/// never arrive.
const GIVE_UP_AFTER: Duration = Duration::from_secs(5 * 24 * 3_600);

/// How many calls about a deleted user are deleted in one transaction.
const BATCH: i64 = 1_000;

/// The content of an event.
enum WebhookEvent {
    /// The settings of a webhook.
    Configured(Settings),
    Due(Box<WebhookCall>),
    /// A request to make a call again.
    Replayed(WebhookReplayed),
    User(UserChanged),
}

struct WebhookCall {
    due: WebhookDue,
    /// The exact text that is signed and sent.
    body: String,
}

/// Starts to consume events. `wake` is signalled after each commit.
pub(crate) fn consume(
    broker: &Broker,
    store: DeliveryStore<WebhookMedium>,
    wake: Arc<Notify>,
) -> ConsumerHandle {
    broker.consume(
        Queue::NotifyWebhooks,
        ConsumeOptions::default(),
        move |delivery| {
            let (store, wake) = (store.clone(), Arc::clone(&wake));
            async move { store_event(&store, &wake, delivery).await }
        },
    )
}

async fn store_event(
    store: &DeliveryStore<WebhookMedium>,
    wake: &Notify,
    delivery: Delivery,
) -> Acknowledgement {
    let (event, content) = match decode_event(&delivery) {
        Ok(decoded) => decoded,
        Err(reason) => return Acknowledgement::DeadLetter(reason),
    };
    let id = event.id;
    let committed = match content {
        WebhookEvent::User(user) if user.deleted => delete_webhook_calls(store, user.user_id).await,
        WebhookEvent::User(_) => return Acknowledgement::Ack,
        content => {
            let stored = store.write(move |tx| {
                if !inbox::record(tx.db, CONSUMER, id, tx.at())? {
                    return Ok(());
                }
                match content {
                    WebhookEvent::Configured(settings) => tx.configure(&settings),
                    WebhookEvent::Due(call) => store_call(tx, event.requestid, *call),
                    WebhookEvent::Replayed(call) => replay(tx, event.requestid, &call),
                    WebhookEvent::User(_) => Ok(()),
                }
            });
            stored.await
        }
    };
    acknowledge(id, committed, wake)
}

fn store_call(
    tx: &mut DeliveryTransaction<'_, WebhookMedium>,
    request_id: Option<String>,
    call: WebhookCall,
) -> QueryResult<()> {
    let id = call.due.delivery_id.to_string();
    let webhook = call.due.webhook_id.to_string();
    let at = tx.at();
    tx.store(NewDelivery {
        kind: "call".to_owned(),
        revision: call.due.revision,
        user_id: Some(call.due.user_id.get()),
        request_id,
        payload: Some(call.body),
        ..NewDelivery::new(WebhookMedium::NAME, id, webhook, at, GIVE_UP_AFTER)
    })
}

/// Makes a settled call pending again. If it is no longer stored, reports it as failed.
fn replay(
    tx: &mut DeliveryTransaction<'_, WebhookMedium>,
    request_id: Option<String>,
    replayed: &WebhookReplayed,
) -> QueryResult<()> {
    let id = replayed.delivery_id.to_string();
    let webhook = replayed.webhook_id.to_string();
    let (at, give_up_at) = (tx.at(), tx.at() + GIVE_UP_AFTER);
    let destination = BTreeSet::from([webhook.clone()]);
    tx.lock(&destination)?;
    if queries::reopen(tx.db, &webhook, &id, at, give_up_at)? {
        return tx.mark_due(&destination, give_up_at);
    }
    if queries::exists(tx.db, &id)? {
        return Ok(());
    }
    let missing = NewDelivery::new(WebhookMedium::NAME, id, webhook, at, GIVE_UP_AFTER);
    let last = DeliveryRow {
        request_id,
        // The highest step, so that reports still on their way are ignored.
        step: i64::MAX,
        ..missing.into()
    };
    tx.report_ended(&[last], FinalState::Failed, "The call is no longer stored")
}

/// Deletes the calls about a deleted user.
async fn delete_webhook_calls(
    store: &DeliveryStore<WebhookMedium>,
    user: UserId,
) -> Result<(), DbError> {
    loop {
        let deleted = store.write(move |tx| queries::delete_calls_about(tx.db, user, BATCH));
        if deleted.await? == 0 {
            return Ok(());
        }
    }
}

fn decode_event(delivery: &Delivery) -> Result<(Event, WebhookEvent), String> {
    let event = decode(delivery)?;
    let content = match event.event_type.as_str() {
        WebhookConfigured::TYPE => WebhookEvent::Configured(configured(&event)?),
        WebhookDue::TYPE => WebhookEvent::Due(Box::new(call(&event)?)),
        WebhookReplayed::TYPE => WebhookEvent::Replayed(data(&event)?),
        UserChanged::TYPE => WebhookEvent::User(data(&event)?),
        other => return Err(format!("this notifier version does not know {other:?}")),
    };
    Ok((event, content))
}

fn call(event: &Event) -> Result<WebhookCall, String> {
    let due: WebhookDue = data(event)?;
    let body = due.event.encode().map_err(|error| error.to_string())?;
    Ok(WebhookCall { due, body })
}

fn configured(event: &Event) -> Result<Settings, String> {
    let configured: WebhookConfigured = data(event)?;
    let sealed = configured.sealed.as_deref().unwrap_or_default();
    // Other text may not fit into a row.
    if !sealed.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the target is not sealed text".to_owned());
    }
    Ok(Settings {
        id: configured.webhook_id.to_string(),
        revision: configured.revision,
        sealed: configured.sealed,
        paused: configured.paused,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::consumer::test_delivery;

    #[test]
    fn an_unreadable_event_or_one_of_another_version_is_rejected_with_a_reason() {
        let event = |event_type: &str, data: serde_json::Value| {
            serde_json::json!({
                "specversion": "1.0", "id": "01945b7a-0000-7000-8000-000000000001", "source": "test", "type": event_type,
                "subject": "x", "time": "2026-11-21T12:00:00Z", "datacontenttype": "application/json", "data": data
            })
            .to_string()
            .into_bytes()
        };
        let reason = |body: &[u8]| decode_event(&test_delivery(body)).err().unwrap();
        assert!(reason(b"\xff\x00").contains("does not decode"));
        let empty = || serde_json::json!({});
        assert!(reason(&event("webhook.due.v2", empty())).contains("webhook.due.v2"));
        assert!(reason(&event("webhook.due.v1", empty())).contains("decode"));
        let sealed = serde_json::json!({ "webhook_id": 1, "revision": 1, "sealed": "a\u{0}b" });
        assert!(reason(&event("webhook.configured.v1", sealed)).contains("sealed"));
    }
}
