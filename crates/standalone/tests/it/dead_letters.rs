//! `holdfast admin notifier …`: without RabbitMQ, messages that cannot be read stay in the outboxes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use db_kit::outbox::{self, NewOutboxRow};
use db_kit::{DatabaseUrl, DbError, Pool, PoolOptions};
use event_types::{Event, EventData, SessionStarted};
use serde_json::{Value, json};
use service_kit::Clock;
use test_kit::wait_until;
use uuid::Uuid;

use crate::processes::{holdfast, quick};

const PATIENCE: Duration = Duration::from_secs(20);

fn admin(data: &Path, args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_holdfast"))
        .args(["--data-dir", data.to_str().unwrap(), "admin", "notifier"])
        .args(args)
        .arg("--json")
        .env_clear()
        .envs(quick())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Inserts an event into a part's outbox, like the part itself; `aside` marks it as unroutable, like a relay.
async fn put(data: &Path, part: &str, body: String, aside: bool) -> String {
    let url = DatabaseUrl::sqlite_file(&data.join(format!("{part}.db")));
    let pool = Pool::open(PoolOptions::new(url, 1));
    let id = Uuid::now_v7();
    let row = NewOutboxRow {
        id,
        exchange: SessionStarted::EXCHANGE.name(),
        routing_key: SessionStarted::TYPE,
        body: body.replace("ID", &id.to_string()),
        created_at: Clock::system().now_naive(),
    };
    pool.write_tx::<_, DbError, _>(move |db| {
        outbox::insert(db, &row)?;
        if aside {
            outbox::mark_unroutable(db, &[row.id.to_string()])?;
        }
        Ok(())
    })
    .await
    .unwrap();
    id.to_string()
}

/// Returns the event of a session on a team project without a chat.
fn started() -> String {
    let data: SessionStarted = serde_json::from_value(json!({
        "session_id": Uuid::now_v7(), "user": {"id": 7, "username": "ada"},
        "project": {"id": "team_3", "name": "Apollo", "type": "team", "team_id": 5, "team_name": "Core"},
        "category": "coding", "planned_duration": 25, "planning_note": "x",
        "started_at": "2026-11-21T12:00:00Z", "expected_end_at": "2026-11-21T12:25:00Z",
        "client": "client_a", "chat": null
    }))
    .unwrap();
    let event = Event::new(Uuid::nil(), "test", Clock::system().now(), None, &data).unwrap();
    let text = event.encode().unwrap();
    text.replace(&Uuid::nil().to_string(), "ID")
}

fn parked(data: &Path) -> Vec<Value> {
    admin(data, &["parked", "list"])["parked"]
        .as_array()
        .unwrap()
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_outbox_messages_are_replayed_or_dropped_beside_the_running_product() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut process = holdfast(&data, &["serve"], &quick());
    process.wait_listening(&["identity", "worksession", "notifier"]);

    let poison = put(&data, "worksession", "{\"poison\": true}".to_owned(), false).await;
    // As left by an older version, which did not know the event.
    let old = put(&data, "worksession", started(), true).await;
    let both = async || (parked(&data).len() == 2).then(|| parked(&data));
    let both = wait_until("both to be set aside", PATIENCE, both).await;
    let of = |id: &str| both.iter().find(|one| one["id"] == id).unwrap();
    assert_eq!(of(&poison)["queue"], "worksession.outbox");
    let reason = of(&poison)["reason"].as_str().unwrap();
    assert!(reason.contains("does not decode"), "{reason}");
    assert_eq!(of(&old)["reason"], "this version can read it");
    let shown = admin(&data, &["parked", "show", &poison]);
    assert_eq!(shown["parked"][0]["body"], "{\"poison\": true}");

    assert_eq!(admin(&data, &["parked", "replay", "--all"])["done"], 2);
    wait_until("the old one to be taken in", PATIENCE, async || {
        let skipped = admin(
            &data,
            &["deliveries", "--state", "skipped", "--project", "3"],
        );
        let first = &skipped["deliveries"][0];
        (first["id"] == old.as_str()).then_some(())
    })
    .await;
    let again = async || (parked(&data).len() == 1).then_some(());
    wait_until("the poison to be set aside again", PATIENCE, again).await;
    assert_eq!(
        admin(&data, &["parked", "drop", &poison, "--yes"])["done"],
        1
    );
    assert!(parked(&data).is_empty());

    assert!(process.terminate().success());
    // If the product does not run, a replayed message waits for it.
    let late = put(&data, "identity", started(), true).await;
    assert_eq!(parked(&data)[0]["queue"], "identity.outbox");
    assert_eq!(admin(&data, &["parked", "replay", &late])["done"], 1);
    assert!(parked(&data).is_empty());
    let mut process = holdfast(&data, &["serve"], &quick());
    process.wait_listening(&["identity", "worksession", "notifier"]);
    wait_until("the late one to be taken in", PATIENCE, async || {
        let skipped = admin(&data, &["deliveries", "--state", "skipped"]);
        let deliveries = skipped["deliveries"].as_array().unwrap();
        deliveries
            .iter()
            .any(|one| one["id"] == late.as_str())
            .then_some(())
    })
    .await;
    assert!(process.terminate().success());
}
