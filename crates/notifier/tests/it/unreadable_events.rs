//! Messages that no version can read: they become dead letters at once and do not block the queue.

use broker::PublishOutcome;
use event_types::Exchange;
use serde_json::{Value, json};
use test_kit::{TestBackend, wait_until};
use uuid::Uuid;

use crate::kit::{Stage, TIMEOUT};

fn event(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut event = json!({
        "specversion": "1.0", "id": Uuid::now_v7(), "source": "test", "type": "session.started.v1",
        "subject": "session/x", "time": "2026-11-21T12:00:00Z", "datacontenttype": "application/json",
        "data": {}
    });
    change(&mut event);
    event.to_string().into_bytes()
}

fn unreadable_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let nested = |depth: usize| {
        let text = event(|event| event["data"] = json!("HERE"));
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        String::from_utf8(text)
            .unwrap()
            .replace("\"HERE\"", &deep)
            .into_bytes()
    };
    vec![
        ("nothing", vec![]),
        ("no JSON", b"{\"not\": ".to_vec()),
        ("no event", b"{\"not\":\"an event\"}".to_vec()),
        ("no object", b"[[],1,null]".to_vec()),
        ("NUL bytes", vec![0; 64]),
        (
            "invalid UTF-8",
            b"{\"specversion\":\"1.0\xff\xfe\"}".to_vec(),
        ),
        ("a megabyte", vec![b' '; 1024 * 1024]),
        (
            "a megabyte of JSON",
            event(|event| event["data"] = json!("x".repeat(1024 * 1024))),
        ),
        ("a byte over the limit", vec![b' '; 64 * 1024 + 1]),
        ("nested deeply", nested(10_000)),
        ("nested as deeply as fits", nested(30_000)),
        (
            "an unknown version",
            event(|event| event["type"] = json!("session.started.v9")),
        ),
        (
            "an unknown type",
            event(|event| event["type"] = json!("session.\u{0}")),
        ),
        ("no type", event(|event| event["type"] = json!(5))),
        (
            "CloudEvents 0.3",
            event(|event| event["specversion"] = json!("0.3")),
        ),
        (
            "CloudEvents 2.0",
            event(|event| event["specversion"] = json!("2.0")),
        ),
        ("no id", event(|event| event["id"] = json!("1"))),
        (
            "a NUL in the id",
            event(|event| event["id"] = json!("\u{0}")),
        ),
        ("no time", event(|event| event["time"] = json!("yesterday"))),
        (
            "data of another kind",
            event(|event| event["data"] = json!([1])),
        ),
        (
            "data with a wrong type",
            event(|event| event["data"] = json!({"session_id": 5})),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_unreadable_message_is_dead_lettered_at_once_and_does_not_block_the_queue() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    for (what, body) in unreadable_bodies() {
        match TestBackend::current() {
            // With the memory broker, it stays in its outbox.
            TestBackend::Sqlite => {
                let id = Uuid::now_v7();
                for (exchange, key) in [
                    (Exchange::Public, "session.started.v1"),
                    (Exchange::Private, "mail.requested.v1"),
                    (Exchange::Private, "webhook.due.v1"),
                ] {
                    let outcome = stage.publish(id, exchange, key, &body).await;
                    assert!(
                        matches!(outcome, PublishOutcome::Unreadable(_)),
                        "{what}: {outcome:?}"
                    );
                }
            }
            TestBackend::Postgres => {
                let connection = stage.kit.connect().await;
                let before = stage.kit.waiting(&connection, "work.parked").await;
                for queue in ["notify.chat", "notify.mail", "notify.webhooks"] {
                    let message = (Some(Uuid::now_v7().to_string()), body.clone());
                    stage.kit.post(&connection, queue, [message]).await;
                }
                let dead_letters = async || {
                    let now = stage.kit.waiting(&connection, "work.parked").await;
                    (now == before + 3).then_some(())
                };
                wait_until(what, TIMEOUT, dead_letters).await;
                connection.close(200, "done".into()).await.unwrap();
            }
        }
        stage
            .start_session(3, Some(1), &format!("behind {what}"))
            .await;
        let message = stage.chat.next_message().await;
        assert!(
            message.text().contains(&format!("behind {what}")),
            "{}",
            message.text()
        );
    }
}

/// PostgreSQL stores no NUL in a text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_nul_in_user_text_or_a_request_id_does_not_stop_the_notification() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let data = stage.started(3, Some(1), "no\u{0}te");
    let id = Uuid::now_v7();
    let body = event(|event| {
        event["id"] = json!(id);
        event["requestid"] = json!("one\u{0}two");
        event["data"] = json!(data);
    });
    let key = "session.started.v1";
    let outcome = stage.publish(id, Exchange::Public, key, &body).await;
    assert_eq!(outcome, PublishOutcome::Confirmed);
    let (kind, _) = stage.wait_for_feedback_about(id).await;
    assert_eq!(kind, "notification.delivered.v1");
    let feedback = stage.feedback();
    assert!(feedback.iter().all(|event| event.requestid.is_none()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_a_valid_id_is_dead_lettered_and_does_not_block_the_queue() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let connection = stage.kit.connect().await;
    let started = |note: &str| {
        let data = stage.started(3, Some(1), note);
        event(|event| event["data"] = serde_json::to_value(data).unwrap())
    };
    let foreign = [
        None,
        Some(String::new()),
        Some("42".to_owned()),
        Some("not-a-uuid\u{1b}[31m".to_owned()),
        Some("x".repeat(255)),
    ];
    let messages = foreign.map(|id| (id, started("foreign")));
    stage.kit.post(&connection, "notify.chat", messages).await;
    let good = (Some(Uuid::now_v7().to_string()), started("good"));
    stage.kit.post(&connection, "notify.chat", [good]).await;
    assert!(stage.chat.next_message().await.text().contains("good"));
    let dead_letters = async || {
        let now = stage.kit.waiting(&connection, "work.parked").await;
        (now == 5).then_some(())
    };
    wait_until("the dead letters", TIMEOUT, dead_letters).await;
    connection.close(200, "done".into()).await.unwrap();
}
