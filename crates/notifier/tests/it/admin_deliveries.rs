use std::time::Duration;

use serde_json::{Value, json};
use test_kit::{ChatReply, assert_ends_quietly_if_output_closes, wait_until};

use crate::admin_kit::{command, json as run_json, refusal, text};
use crate::kit::{Stage, TIMEOUT};

fn of(listed: &Value, id: impl ToString) -> Value {
    let deliveries = listed["deliveries"].as_array().unwrap();
    let found = deliveries
        .iter()
        .find(|one| one["id"] == id.to_string().as_str());
    found.cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_are_listed_by_state_and_a_pending_one_is_retried_on_demand() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("secret-hook")).await;
    let delivered = stage.start_session(3, Some(1), "a note").await;
    stage.wait_for_feedback_about(delivered).await;
    let skipped = stage.start_session(4, None, "nobody to tell").await;
    stage.wait_for_feedback_about(skipped).await;
    stage.chat.usually(ChatReply::Status(500));
    let waits = stage.start_session(3, Some(1), "waits").await;
    // After several attempts, the next one is far off.
    let far = wait_until("some tries", Duration::from_secs(40), async || {
        let one = of(
            &run_json(&stage, &["deliveries", "--state", "waiting"]),
            waits,
        );
        (one["attempts"].as_i64()? >= 2 && one["state"] == "pending").then_some(one)
    })
    .await;
    assert_eq!(
        (&far["medium"], &far["kind"], &far["project_id"]),
        (&json!("chat"), &json!("plan"), &json!(3))
    );
    assert!(far["reason"].as_str().unwrap().contains("500"), "{far}");
    assert!(far["next_attempt_at"].is_string() && far["give_up_at"].is_string());

    let all = run_json(&stage, &["deliveries"]);
    assert_eq!(of(&all, delivered)["state"], "delivered");
    assert_eq!(of(&all, delivered)["next_attempt_at"], Value::Null);
    assert_eq!(of(&all, skipped)["reason"], "The project has no chat");
    let newest: Vec<&str> = all["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert!(newest.is_sorted_by(|a, b| a > b), "{newest:?}");
    let of_four = run_json(&stage, &["deliveries", "list", "--project", "4"]);
    assert_eq!(of_four["deliveries"].as_array().unwrap().len(), 1);
    for (state, id) in [
        ("delivered", delivered),
        ("skipped", skipped),
        ("waiting", waits),
    ] {
        let only = run_json(&stage, &["deliveries", "--state", state]);
        assert_eq!(only["deliveries"].as_array().unwrap().len(), 1, "{state}");
        assert_eq!(of(&only, id)["id"], id.to_string().as_str());
    }
    // The list has pages.
    let page = run_json(&stage, &["deliveries", "--limit", "2"]);
    let next = page["next_before"].as_str().unwrap();
    let rest = run_json(&stage, &["deliveries", "--limit", "2", "--before", next]);
    assert_eq!(
        (
            rest["deliveries"].as_array().unwrap().len(),
            &rest["next_before"]
        ),
        (1, &Value::Null)
    );

    let table = text(&stage, &["deliveries"]);
    for text in [
        "plan to project 3",
        "delivered",
        "skipped",
        "The project has no chat",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    let short = &waits.simple().to_string()[20..];
    let shown = text(&stage, &["deliveries", "show", short]);
    assert!(
        shown.contains("plan to project 3") && shown.contains("attempts"),
        "{shown}"
    );
    for printed in [&table, &shown, &all.to_string()] {
        assert!(
            !printed.contains("secret-hook") && !printed.contains("a note"),
            "{printed}"
        );
    }

    stage.chat.usually(ChatReply::Status(200));
    text(&stage, &["deliveries", "retry", short]);
    assert_eq!(
        stage.wait_for_feedback_about(waits).await.0,
        "notification.delivered.v1"
    );
    let refused = refusal(&stage, &["deliveries", "retry", short]);
    assert!(refused.contains("is delivered"), "{refused}");
    let unknown = refusal(&stage, &["deliveries", "show", "000000000000"]);
    assert!(unknown.contains("`notifier admin deliveries`"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_on_demand_respects_the_chats_retry_after() {
    let stage = Stage::set().await;
    stage.configure(3, 1, Some("a")).await;
    stage
        .chat
        .script([ChatReply::RetryAfter(429, "3600".to_owned())]);
    let id = stage.start_session(3, Some(1), "patient").await;
    stage.chat.next_message().await;
    wait_until("the answer to be written", TIMEOUT, async || {
        let one = of(&run_json(&stage, &["deliveries"]), id);
        (one["state"] == "pending" && one["attempts"] == 1).then_some(())
    })
    .await;
    text(&stage, &["deliveries", "retry", &id.to_string()]);
    let early = stage.chat.next_message_within(Duration::from_secs(2)).await;
    assert!(early.is_none(), "{early:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_is_being_sent_cannot_be_retried() {
    let stage = Stage::set().await;
    stage.chat.usually(ChatReply::Hang);
    stage.configure(3, 1, Some("a")).await;
    let id = stage.start_session(3, Some(1), "slow").await.to_string();
    stage.chat.next_message().await;
    wait_until("the delivery to be listed", TIMEOUT, async || {
        (!of(&run_json(&stage, &["deliveries"]), &id).is_null()).then_some(())
    })
    .await;
    let refused = refusal(&stage, &["deliveries", "retry", &id]);
    assert!(refused.contains("is being sent"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_whose_output_is_closed_ends_quietly() {
    let stage = Stage::set().await;
    for args in [["deliveries", "--state=waiting"], ["deliveries", "--json"]] {
        assert_ends_quietly_if_output_closes(&mut command(&stage, &args));
    }
}
