//! Events that decode but cannot be stored: they become dead letters at once and do not block the queue.

use broker::PublishOutcome;
use event_types::{EventData, Notification, NotificationFailed, SessionStarted, WebhookDue};
use serde_json::json;
use test_kit::{TestBackend, wait_until};
use uuid::Uuid;

use crate::broker_fixture::{TIMEOUT, World, data, team_changed};
use crate::caller::Caller;
use crate::database;
use crate::webhook_fixture::create_webhook;

/// Waits for the dead letter, for less time than the broker needs to give up on a requeued message.
async fn until_dead_lettered(world: &World) {
    wait_until("the dead letter", TIMEOUT, async || {
        (world.dead_letter_count().await == 1).then_some(())
    })
    .await;
}

/// PostgreSQL stores no NUL in a text; SQLite does.
#[tokio::test(flavor = "multi_thread")]
async fn feedback_with_a_nul_is_dead_lettered_and_does_not_block_the_queue() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let session = ada.start_coding().await;
    let failed = |reason: &str| NotificationFailed {
        notification: Notification {
            event_id: Uuid::now_v7(),
            about: SessionStarted::TYPE.to_owned(),
            session_id: session["session_id"].as_str().unwrap().parse().unwrap(),
            project_id: None,
            at: world.service.time.now(),
            also: Vec::new(),
        },
        reason: reason.to_owned(),
    };
    let outcomes = [
        failed("before"),
        failed("The chat\u{0} is gone"),
        failed("behind"),
    ];
    for outcome in &outcomes {
        world.publish(outcome).await;
    }
    until_dead_lettered(&world).await;
    let shown = "SELECT count(*) AS number FROM notifications WHERE reason IN ('before', 'behind')";
    wait_until("the others to be shown", TIMEOUT, async || {
        (database::count(&world.service, shown) == 2).then_some(())
    })
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_name_with_a_nul_is_dead_lettered_and_does_not_block_the_queue() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let world = World::start().await;
    world.publish(&team_changed(3, "Eng\u{0}ines", false)).await;
    until_dead_lettered(&world).await;
    world.until_all_consumed().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_event_too_long_for_a_webhook_is_dead_lettered_and_does_not_block() {
    let world = World::start().await;
    let (_chat, _) = world.consume_chats();
    let ada = Caller::member(&world.service, 7);
    create_webhook(&ada, json!({"url": "https://hooks.example/x"})).await;
    ada.start_coding().await;
    let due = world.received::<WebhookDue>(1).await.remove(0);
    // The event is just short enough; with what a webhook delivery adds, it is too long.
    let (id, mut event) = (Uuid::now_v7(), json!(due.event));
    event["id"] = json!(id);
    event["data"]["padding"] = json!("");
    let padding = 64 * 1024 - event.to_string().len();
    event["data"]["padding"] = json!("x".repeat(padding));
    let body = event.to_string().into_bytes();
    let outcome = world.publish_bytes(id, SessionStarted::TYPE, body).await;
    // RabbitMQ moves it to the dead-letter queue; the memory broker has none.
    if TestBackend::current() == TestBackend::Sqlite {
        assert!(
            matches!(outcome, PublishOutcome::Unreadable(_)),
            "{outcome:?}"
        );
    } else {
        until_dead_lettered(&world).await;
    }
    let plan = json!({"category": "study", "duration": 25});
    ada.start(plan).await;
    let due = world.received::<WebhookDue>(2).await;
    assert_eq!(data(&due[1].event)["category"], "study");
    world.stop().await;
}
