use std::collections::HashMap;
use std::time::Duration;

use broker::{Acknowledgement, Broker, ConsumeOptions, Queue};
use serde_json::{Value, json};
use test_kit::{TestBackend, wait_until};
use uuid::Uuid;

use crate::admin_kit::{command, json as run_json, refusal, run, text};
use crate::kit::{Stage, TIMEOUT, data, destination, notifications};

async fn count_waiting(stage: &Stage, queue: &str) -> u32 {
    let connection = stage.kit.connect().await;
    let count = stage.kit.waiting(&connection, queue).await;
    connection.close(200, "done".into()).await.unwrap();
    count
}

async fn wait_for_count(stage: &Stage, queue: &str, count: u32) {
    let is_reached = async || (count_waiting(stage, queue).await == count).then_some(());
    wait_until(&format!("{count} in {queue}"), TIMEOUT, is_reached).await;
}

/// Stops the notifier, and lets an older version that knows no event at all consume its queues.
async fn start_older_version(stage: &mut Stage) -> (Broker, Vec<broker::ConsumerHandle>) {
    stage.stop().await;
    let url = stage.kit.url().parse().unwrap();
    let broker = Broker::connect(&url, stage.kit.prefix(), "older");
    let queues = [Queue::NotifyChat, Queue::NotifyMail, Queue::NotifyWebhooks];
    let consumers = queues.map(|queue| {
        broker.consume(queue, ConsumeOptions::default(), |_| async {
            Acknowledgement::DeadLetter("this version knows it not".to_owned())
        })
    });
    (broker, consumers.into())
}

async fn stop_older_version(older: (Broker, Vec<broker::ConsumerHandle>)) {
    for consumer in older.1 {
        consumer.stop().await;
    }
    older.0.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_dead_letter_of_an_older_version_is_delivered_once() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let mut stage = Stage::set().await;
    let older = start_older_version(&mut stage).await;
    let address = stage.chat.hook("a");
    stage
        .publish_event(&destination(3, 1, Some(&address)))
        .await;
    let id = stage.start_session(3, Some(1), "kept \u{1b}[2J").await;
    wait_for_count(&stage, "work.parked", 2).await;
    stop_older_version(older).await;
    stage.start().await;

    let listed = run_json(&stage, &["parked", "list"]);
    assert_eq!(
        (&listed["total"], &listed["more"]),
        (&json!(2), &json!(false))
    );
    let one = listed["parked"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["id"] == id.to_string().as_str())
        .unwrap();
    assert_eq!(one["queue"], "notify.chat");
    assert_eq!(one["event_type"], "session.started.v1");
    assert_eq!(one["reason"], "this version can read it");
    assert!(one["at"].as_str().unwrap().ends_with('Z'));

    let short = &id.simple().to_string()[20..];
    let table = text(&stage, &["parked", "list"]);
    assert!(
        table.contains(short) && table.contains("session.started.v1"),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    let shown = text(&stage, &["parked", "show", short]);
    assert!(
        shown.contains("\\u001b[2J") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    let detail = run_json(&stage, &["parked", "show", &id.to_string()]);
    let body: Value = serde_json::from_str(detail["parked"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["data"]["planning_note"], "kept \u{1b}[2J");
    // The address of the chat was sealed, and stays so.
    let all = listed["parked"].as_array().unwrap();
    for one in all {
        let shown = text(
            &stage,
            &["parked", "show", one["id"].as_str().unwrap(), "--full"],
        );
        assert!(!shown.contains(&address), "{shown}");
    }
    wait_for_count(&stage, "work.parked", 2).await;

    // First one, then all.
    assert_eq!(run_json(&stage, &["parked", "replay", short])["done"], 1);
    wait_for_count(&stage, "work.parked", 1).await;
    assert!(
        stage
            .chat
            .next_message_within(Duration::from_millis(500))
            .await
            .is_none()
    );
    assert_eq!(text(&stage, &["parked", "replay", "--all"]), "1 replayed\n");
    assert!(stage.chat.next_message().await.text().contains("kept"));
    assert_eq!(
        stage.wait_for_feedback_about(id).await.0,
        "notification.delivered.v1"
    );
    wait_for_count(&stage, "work.parked", 0).await;
    assert_eq!(text(&stage, &["parked", "list"]), "No dead letters.\n");
    assert_eq!(stage.chat.messages().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_message_is_dead_lettered_again_and_dropped_only_on_demand() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let stage = Stage::set().await;
    let connection = stage.kit.connect().await;
    let (id, body) = (
        Uuid::now_v7().to_string(),
        b"{\"unreadable\": true}".to_vec(),
    );
    for queue in ["notify.chat", "notify.mail"] {
        let message = (Some(id.clone()), body.clone());
        stage.kit.post(&connection, queue, [message]).await;
    }
    stage
        .kit
        .post(&connection, "notify.chat", [(None, b"\xff\0".to_vec())])
        .await;
    wait_for_count(&stage, "work.parked", 3).await;

    let chat = run_json(&stage, &["parked", "list", "--queue", "notify.chat"]);
    assert_eq!(chat["parked"].as_array().unwrap().len(), 2);
    let first = run_json(&stage, &["parked", "list", "--limit", "1"]);
    assert_eq!(
        (
            first["parked"].as_array().unwrap().len(),
            &first["more"],
            &first["total"]
        ),
        (1, &json!(true), &json!(3))
    );
    let both = run_json(&stage, &["parked", "show", &id]);
    assert_eq!(both["parked"].as_array().unwrap().len(), 2);
    // A message without an id is named by its content, and one that is not text is shown in base64.
    let nameless = chat["parked"].as_array().unwrap();
    let nameless = nameless
        .iter()
        .find(|one| one["id"] != id.as_str())
        .unwrap();
    let name = nameless["id"].as_str().unwrap();
    assert!(name.starts_with("body-"), "{name}");
    let shown = run_json(&stage, &["parked", "show", name]);
    assert_eq!(
        (
            &shown["parked"][0]["body"],
            &shown["parked"][0]["body_base64"]
        ),
        (&Value::Null, &json!("/wA="))
    );

    // A replay handles each message once, even if it becomes a dead letter again at once.
    assert_eq!(
        run_json(
            &stage,
            &["parked", "replay", "--all", "--queue", "notify.chat"]
        )["done"],
        2
    );
    wait_for_count(&stage, "work.parked", 3).await;

    let refused = refusal(&stage, &["parked", "drop", &id]);
    assert!(refused.contains("--yes"), "{refused}");
    let unknown = refusal(&stage, &["parked", "replay", "nothing-of-the-kind"]);
    assert!(
        unknown.contains("nothing-of-the-kind") && unknown.contains("`notifier admin parked list`"),
        "{unknown}"
    );
    let neither = run(&stage, &["parked", "replay"]);
    assert_eq!(neither.status.code(), Some(2));
    let one = ["parked", "drop", &id, "--queue", "notify.mail", "--yes"];
    assert_eq!(run_json(&stage, &one)["done"], 1);
    wait_for_count(&stage, "work.parked", 2).await;
    assert_eq!(
        text(&stage, &["parked", "drop", "--all", "--yes"]),
        "2 dropped\n"
    );
    wait_for_count(&stage, "work.parked", 0).await;
    connection.close(200, "done".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_replays_of_thousands_of_dead_letters_lose_none_even_if_one_is_killed() {
    const COUNT: u32 = 2_000;
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let mut stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    let older = start_older_version(&mut stage).await;
    // Sessions of a project without a chat: each is stored once and skipped.
    let connection = stage.kit.connect().await;
    let mut ids = Vec::new();
    for _ in 0..COUNT / 500 {
        let batch: Vec<_> = (0..500)
            .map(|_| {
                let id = Uuid::now_v7();
                let data = stage.started(4, None, "one of many");
                let event = event_types::Event::new(id, "test", stage.clock.now(), None, &data);
                ids.push(id.to_string());
                (
                    Some(id.to_string()),
                    event.unwrap().encode().unwrap().into_bytes(),
                )
            })
            .collect();
        stage.kit.post(&connection, "notify.chat", batch).await;
    }
    let all_dead_letters = async || {
        let count = stage.kit.waiting(&connection, "work.parked").await;
        (count == COUNT).then_some(())
    };
    wait_until(
        "all dead letters",
        Duration::from_secs(120),
        all_dead_letters,
    )
    .await;
    stop_older_version(older).await;

    // Listing them while another arrives removes nothing.
    stage
        .kit
        .post(
            &connection,
            "work.parked",
            [(Some("late".to_owned()), b"{}".to_vec())],
        )
        .await;
    let listed = run_json(&stage, &["parked", "list", "--limit", "1000"]);
    assert_eq!(
        (&listed["total"], &listed["more"]),
        (&json!(COUNT + 1), &json!(true))
    );
    let one = ids[ids.len() / 2].clone();
    assert_eq!(
        run_json(&stage, &["parked", "show", &one])["parked"][0]["id"],
        one.as_str()
    );
    wait_for_count(&stage, "work.parked", COUNT + 1).await;

    stage.start().await;
    let mut killed = command(
        &stage,
        &["parked", "replay", "--all", "--queue", "notify.chat"],
    )
    .spawn()
    .unwrap();
    let some = async || (count_waiting(&stage, "work.parked").await < COUNT - 200).then_some(());
    wait_until("the replay to be in the middle", TIMEOUT, some).await;
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut replays: Vec<_> = (0..2)
        .map(|_| {
            command(
                &stage,
                &["parked", "replay", "--all", "--queue", "notify.chat"],
            )
            .spawn()
            .unwrap()
        })
        .collect();
    for replay in &mut replays {
        assert!(replay.wait().unwrap().success());
    }
    // One replay may have received some while the other counted them.
    while count_waiting(&stage, "work.parked").await > 1 {
        run_json(
            &stage,
            &["parked", "replay", "--all", "--queue", "notify.chat"],
        );
    }
    let all_reported = async || {
        let reported = reported_event_ids(&stage, 4).len();
        (reported >= usize::try_from(COUNT).unwrap()).then_some(())
    };
    wait_until(
        "feedback about each",
        Duration::from_secs(120),
        all_reported,
    )
    .await;
    wait_for_count(&stage, "notify.chat", 0).await;
    let mut counts = HashMap::<String, u32>::new();
    for id in reported_event_ids(&stage, 4) {
        *counts.entry(id).or_default() += 1;
    }
    assert!(
        ids.iter().all(|id| counts.get(id) == Some(&1)),
        "each is stored once"
    );
    assert_eq!(counts.len(), ids.len());
    assert_eq!(
        run_json(&stage, &["parked", "list"])["parked"][0]["id"],
        "late"
    );
    connection.close(200, "done".into()).await.unwrap();
}

/// Returns the events of a project whose outcome the notifier has reported, each as often as reported.
fn reported_event_ids(stage: &Stage, project: i64) -> Vec<String> {
    let feedback = stage.feedback().into_iter();
    let feedback = feedback.filter(|event| data(event)["project_id"] == project);
    feedback
        .flat_map(|event| notifications(&event))
        .map(|notification| notification["event_id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_cannot_connect_names_the_setting_to_change() {
    let stage = Stage::set().await;
    let mut away = command(&stage, &["parked", "list"]);
    let away = away
        .env("NOTIFIER__BROKER__URL", "amqp://guest:hunter2@127.0.0.1:1")
        .output();
    let error = String::from_utf8(away.unwrap().stderr).unwrap();
    assert!(
        error.contains("the broker does not answer") && error.contains("NOTIFIER__BROKER__URL"),
        "{error}"
    );
    assert!(
        !error.contains("hunter2") && error.lines().count() == 1,
        "{error}"
    );
    let mut alone = command(&stage, &["parked", "list"]);
    let alone = alone.env_remove("NOTIFIER__BROKER__URL").output().unwrap();
    let error = String::from_utf8(alone.stderr).unwrap();
    assert!(
        error.contains("NOTIFIER__BROKER__URL") && error.contains("holdfast"),
        "{error}"
    );
    let mut nowhere = command(&stage, &["parked", "list"]);
    let nowhere = nowhere
        .env("NOTIFIER__DATABASE__URL", "sqlite:///nowhere/notifier.db")
        .output();
    let error = String::from_utf8(nowhere.unwrap().stderr).unwrap();
    assert!(
        error.contains("there is no /nowhere/notifier.db"),
        "{error}"
    );
    if TestBackend::current() == TestBackend::Postgres {
        let mut other = command(&stage, &["parked", "list"]);
        let other = other
            .env("NOTIFIER__BROKER__PREFIX", "nobody.")
            .output()
            .unwrap();
        let error = String::from_utf8(other.stderr).unwrap();
        assert!(
            error.contains("no queue nobody.work.parked") && error.contains("BROKER__PREFIX"),
            "{error}"
        );
    }
}
