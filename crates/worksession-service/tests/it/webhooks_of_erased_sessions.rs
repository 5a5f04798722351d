//! Sessions that are erased while their events are in transit: no webhook is called about them.

use event_types::{EventData, SessionStarted, WebhookDue};
use serde_json::{Value, json};
use test_kit::TestBackend;
use uuid::Uuid;

use crate::broker_fixture::{World, data};
use crate::caller::Caller;
use crate::database;
use crate::open_transaction::{OpenTransaction, until_lock_waits};
use crate::webhook_fixture::create_webhook;

const COUNT_DELIVERIES: &str = "SELECT count(*) AS number FROM webhook_deliveries";

/// Starts a session that triggers a webhook of the user; returns its event, and its id as an SQL literal.
async fn start_with_webhook(world: &World, caller: &Caller<'_>) -> (Value, String) {
    let (_chat, _) = world.consume_chats();
    create_webhook(caller, json!({"url": "https://hooks.example/x"})).await;
    let session = caller.start_coding().await;
    let due = world.received::<WebhookDue>(1).await.remove(0);
    assert_eq!(data(&due.event)["session_id"], session["session_id"]);
    assert_eq!(database::count(&world.service, COUNT_DELIVERIES), 1);
    let id = session["session_id"].as_str().unwrap();
    (json!(due.event), format!("'{id}'"))
}

/// Publishes the event under a new id.
async fn publish_again(world: &World, mut event: Value) -> Uuid {
    let id = Uuid::now_v7();
    event["id"] = json!(id);
    let body = event.to_string().into_bytes();
    world.publish_bytes(id, SessionStarted::TYPE, body).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_session_triggers_no_webhook() {
    let world = World::start().await;
    let (_chat, _) = world.consume_chats();
    let ada = Caller::member(&world.service, 7);
    let (event, session) = start_with_webhook(&world, &ada).await;
    let again = publish_again(&world, event.clone()).await;
    world.until_consumed(again).await;
    assert_eq!(
        database::count(&world.service, COUNT_DELIVERIES),
        2,
        "while it exists"
    );
    let erase = format!(
        "DELETE FROM webhook_deliveries; DELETE FROM sessions WHERE session_id = {session}"
    );
    database::execute(&world.service, &erase);
    let again = publish_again(&world, event).await;
    world.until_consumed(again).await;
    assert_eq!(database::count(&world.service, COUNT_DELIVERIES), 0);
    world.stop().await;
}

/// Only PostgreSQL runs the erasure and the event at the same time; SQLite has one writer.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_under_erasure_triggers_no_webhook() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let world = World::start().await;
    let (_chat, _) = world.consume_chats();
    let ada = Caller::member(&world.service, 7);
    let (event, session) = start_with_webhook(&world, &ada).await;
    let erase = format!(
        "DELETE FROM webhook_deliveries; DELETE FROM sessions WHERE session_id = {session}"
    );
    let erasing = OpenTransaction::begin(&world.service, &erase);
    let again = publish_again(&world, event).await;
    until_lock_waits(&world.service, 1).await;
    erasing.commit();
    world.until_consumed(again).await;
    assert_eq!(database::count(&world.service, COUNT_DELIVERIES), 0);
    world.stop().await;
}
