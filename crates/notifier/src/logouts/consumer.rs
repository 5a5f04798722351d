use std::sync::Arc;
use std::time::Duration;

use broker::{Acknowledgement, Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue};
use event_types::{Event, LogoutRequested};
use tokio::sync::Notify;

use super::LogoutMedium;
use crate::consumer::{acknowledge, data, decode};
use crate::delivery::{DeliveryStore, Medium, NewDelivery};

/// A call expires after this time in any case. Its last token is valid a day after the first.
const GIVE_UP_AFTER: Duration = Duration::from_secs(25 * 3_600);

/// The longest id of a client; a generated one is shorter.
const MAX_CLIENT_ID_BYTES: usize = 256;

/// Starts to consume events. `wake` is signalled after each commit.
pub(crate) fn consume(
    broker: &Broker,
    store: DeliveryStore<LogoutMedium>,
    wake: Arc<Notify>,
) -> ConsumerHandle {
    broker.consume(
        Queue::NotifyLogouts,
        ConsumeOptions::default(),
        move |delivery| {
            let (store, wake) = (store.clone(), Arc::clone(&wake));
            async move { store_call(&store, &wake, delivery).await }
        },
    )
}

async fn store_call(
    store: &DeliveryStore<LogoutMedium>,
    wake: &Notify,
    delivery: Delivery,
) -> Acknowledgement {
    let (event, requested) = match decode_event(&delivery) {
        Ok(decoded) => decoded,
        Err(reason) => return Acknowledgement::DeadLetter(reason),
    };
    let id = event.id.to_string();
    let stored = store.write(move |tx| {
        let at = tx.at();
        tx.store(NewDelivery {
            kind: requested.client_id,
            request_id: event.requestid,
            payload: Some(requested.sealed),
            ..NewDelivery::new(LogoutMedium::NAME, id.clone(), id, at, GIVE_UP_AFTER)
        })
    });
    acknowledge(event.id, stored.await, wake)
}

fn decode_event(delivery: &Delivery) -> Result<(Event, LogoutRequested), String> {
    let event = decode(delivery)?;
    let requested: LogoutRequested = data(&event)?;
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    // Other text may not fit into a row.
    if requested.client_id.len() > MAX_CLIENT_ID_BYTES || !is_plain(&requested.client_id) {
        return Err("the client's id is not plain text".to_owned());
    }
    if !is_plain(&requested.sealed) {
        return Err("the call is not sealed text".to_owned());
    }
    Ok((event, requested))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::{Value, json};

    use super::*;
    use crate::consumer::test_delivery;

    #[test]
    fn an_event_that_cannot_become_a_row_is_rejected_with_a_reason() {
        let read = |event_type: &str, data: Value| {
            let event = json!({
                "specversion": "1.0", "id": "01945b7a-0000-7000-8000-000000000001", "source": "test", "type": event_type,
                "subject": "x", "time": "2026-11-21T12:00:00Z", "datacontenttype": "application/json", "data": data
            });
            decode_event(&test_delivery(event.to_string().as_bytes())).map(drop)
        };
        let current = "identity.logout_requested.v1";
        let good = json!({ "client_id": "web", "sealed": "v2.a.b" });
        assert_eq!(read(current, good.clone()), Ok(()));
        for (event_type, data, reason) in [
            ("identity.logout_requested.v2", good, "v2"),
            (current, json!({}), "missing field"),
            (current, json!({ "client_id": "w\0b", "sealed": "x" }), "id"),
            (
                current,
                json!({ "client_id": "x".repeat(257), "sealed": "x" }),
                "id",
            ),
            (
                current,
                json!({ "client_id": "web", "sealed": "a\0b" }),
                "sealed",
            ),
        ] {
            let error = read(event_type, data).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
