use std::sync::Arc;

use broker::{Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue, Verdict};
use event_types::{Event, EventData, UserChanged, WebhookConfigured, WebhookDue, WebhookReplayed};
use tokio::sync::Notify;

use super::ledger::Ledger;
use crate::intake::{conclude, data, decode};

/// What an event asks of the notifier.
enum Word {
    /// Where a webhook goes.
    Configured(WebhookConfigured),
    /// A call to be made.
    Due(Box<WebhookDue>),
    /// A call to be made again.
    Replayed(WebhookReplayed),
    /// An account.
    User(UserChanged),
}

/// Starts to take events in; `wake` is told after each commit.
pub(super) fn consume(broker: &Broker, ledger: Ledger, wake: Arc<Notify>) -> ConsumerHandle {
    broker.consume(
        Queue::NotifyWebhooks,
        ConsumeOptions::default(),
        move |delivery| {
            let (ledger, wake) = (ledger.clone(), Arc::clone(&wake));
            async move { take_in(&ledger, &wake, delivery).await }
        },
    )
}

async fn take_in(ledger: &Ledger, wake: &Notify, delivery: Delivery) -> Verdict {
    let (event, word) = match read(&delivery) {
        Ok(read) => read,
        Err(reason) => return Verdict::Park(reason),
    };
    let (id, request_id) = (event.id, event.requestid);
    let committed = match word {
        Word::Configured(configured) => ledger.configure(id, configured).await,
        Word::Due(due) => match due.event.encode() {
            Ok(body) => ledger.take(id, request_id, *due, body).await,
            Err(error) => return Verdict::Park(error.to_string()),
        },
        Word::Replayed(replayed) => ledger.replay(id, request_id, replayed).await,
        Word::User(user) if user.deleted => ledger.forget_user(user.user_id).await,
        Word::User(_) => return Verdict::Ack,
    };
    conclude(id, committed, wake)
}

fn read(delivery: &Delivery) -> Result<(Event, Word), String> {
    let event = decode(delivery)?;
    let word = match event.event_type.as_str() {
        WebhookConfigured::TYPE => Word::Configured(configured(&event)?),
        WebhookDue::TYPE => Word::Due(Box::new(data(&event)?)),
        WebhookReplayed::TYPE => Word::Replayed(data(&event)?),
        UserChanged::TYPE => Word::User(data(&event)?),
        other => return Err(format!("the notifier of this version knows no {other:?}")),
    };
    Ok((event, word))
}

fn configured(event: &Event) -> Result<WebhookConfigured, String> {
    let configured: WebhookConfigured = data(event)?;
    let sealed = configured.sealed.as_deref().unwrap_or_default();
    // Anything else would not fit into a row.
    if !sealed.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("the target is not sealed text".to_owned());
    }
    Ok(configured)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::intake::arrived;

    #[test]
    fn what_is_unreadable_or_of_another_version_is_parked_with_a_reason() {
        let event = |event_type: &str, data: serde_json::Value| {
            serde_json::json!({
                "specversion": "1.0", "id": "01945b7a-0000-7000-8000-000000000001", "source": "test", "type": event_type,
                "subject": "x", "time": "2026-11-21T12:00:00Z", "datacontenttype": "application/json", "data": data
            })
            .to_string()
            .into_bytes()
        };
        let reason = |body: &[u8]| read(&arrived(body)).err().unwrap();
        assert!(reason(b"\xff\x00").contains("does not decode"));
        let empty = || serde_json::json!({});
        assert!(reason(&event("webhook.due.v2", empty())).contains("webhook.due.v2"));
        assert!(reason(&event("webhook.due.v1", empty())).contains("decode"));
        let sealed = serde_json::json!({ "webhook_id": 1, "revision": 1, "sealed": "a\u{0}b" });
        assert!(reason(&event("webhook.configured.v1", sealed)).contains("sealed"));
    }
}
