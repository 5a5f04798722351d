//! Sessions that are erased while their events are in transit: no webhook is called about them.

use event_types::{EventData, SessionStarted, WebhookDue};
use serde_json::{Value, json};
use test_kit::TestBackend;
use uuid::Uuid;

use crate::identity_events::{World, data};
use crate::locks::{Open, until_waiting};
use crate::person::Person;
use crate::rows;
use crate::webhooks::make;

const CALLS: &str = "SELECT count(*) AS number FROM webhook_deliveries";

/// Starts a session that triggers a webhook of the user; returns its event, and its id as an SQL literal.
async fn told_once(world: &World, person: &Person<'_>) -> (Value, String) {
    let (_chat, _) = world.destinations();
    make(person, json!({"url": "https://hooks.example/x"})).await;
    let session = person.start_coding().await;
    let due = world.told::<WebhookDue>(1).await.remove(0);
    assert_eq!(data(&due.event)["session_id"], session["session_id"]);
    assert_eq!(rows::count(&world.service, CALLS), 1);
    let id = session["session_id"].as_str().unwrap();
    (json!(due.event), format!("'{id}'"))
}

/// Publishes the event under a new id.
async fn tell_anew(world: &World, mut event: Value) -> Uuid {
    let id = Uuid::now_v7();
    event["id"] = json!(id);
    let body = event.to_string().into_bytes();
    world.publish(id, SessionStarted::TYPE, body).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_session_triggers_no_webhook() {
    let world = World::start().await;
    let (_chat, _) = world.destinations();
    let ada = Person::member(&world.service, 7);
    let (event, session) = told_once(&world, &ada).await;
    world.taken_in(tell_anew(&world, event.clone()).await).await;
    assert_eq!(rows::count(&world.service, CALLS), 2, "while it is there");
    let erase = format!(
        "DELETE FROM webhook_deliveries; DELETE FROM sessions WHERE session_id = {session}"
    );
    rows::execute(&world.service, &erase);
    world.taken_in(tell_anew(&world, event).await).await;
    assert_eq!(rows::count(&world.service, CALLS), 0);
    world.stop().await;
}

/// Only PostgreSQL runs the erasure and the event at the same time; SQLite has one writer.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_under_erasure_triggers_no_webhook() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let world = World::start().await;
    let (_chat, _) = world.destinations();
    let ada = Person::member(&world.service, 7);
    let (event, session) = told_once(&world, &ada).await;
    let erase = format!(
        "DELETE FROM webhook_deliveries; DELETE FROM sessions WHERE session_id = {session}"
    );
    let erasing = Open::begin(&world.service, &erase);
    let told = tell_anew(&world, event).await;
    until_waiting(&world.service, 1).await;
    erasing.commit();
    world.taken_in(told).await;
    assert_eq!(rows::count(&world.service, CALLS), 0);
    world.stop().await;
}
