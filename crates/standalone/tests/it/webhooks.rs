//! Webhooks through the whole product: created over HTTP, called by the notifier, shown in the log.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use db_kit::DbError;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::{Value, json};
use test_kit::{ChatMessage, ChatReply, wait_until};

use crate::harness::{System, User, execution, plan};

const PATIENCE: Duration = Duration::from_secs(20);

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Counts rows of the work-session service (1) or of the notifier (2).
fn count(system: &System, part: usize, rows: &str) -> i64 {
    let sql = format!("SELECT count(*) AS number FROM {rows}");
    let pool = system.databases[part].pool(1);
    let counted =
        pool.read_blocking::<Number, DbError>(|db| Ok(diesel::sql_query(sql).get_result(db)?));
    counted.unwrap().number
}

/// Creates a webhook that calls the hook `name` of the chat server; returns its path and secret.
async fn make(system: &System, user: &User, name: &str, team: Option<i64>) -> (String, String) {
    let body = json!({"url": system.chat.hook(name), "team_id": team});
    let call = system.work.post("/api/webhooks").bearer(&user.token);
    let made = call.json(body).send().await.expect(201).json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    (format!("/api/webhooks/{}", made["webhook"]["id"]), secret)
}

async fn post(system: &System, user: &User, path: &str) -> Value {
    let call = system.work.post(path).bearer(&user.token);
    call.json(json!({})).send().await.expect(202).json()
}

/// Returns the webhook's log once it has `count` deliveries, all of them in `state`.
async fn log(system: &System, user: &User, path: &str, count: usize, state: &str) -> Vec<Value> {
    let path = format!("{path}/deliveries");
    wait_until("the log", PATIENCE, async || {
        let call = system.work.get(&path).bearer(&user.token);
        let page = call.send().await.expect(200).json();
        let calls = page["deliveries"].as_array().unwrap().clone();
        let settled = calls.len() == count && calls.iter().all(|call| call["state"] == state);
        settled.then_some(calls)
    })
    .await
}

/// Returns the next call to the hook `name`.
async fn next(system: &System, name: &str) -> ChatMessage {
    loop {
        let message = system.chat.next_message().await;
        if message.path == format!("/services/{name}") {
            return message;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_and_the_teams_webhook_get_signed_calls_about_a_start_and_a_submit() {
    let system = System::start().await;
    let (ada, bob) = (
        system.register_user("ada").await,
        system.register_user("bob").await,
    );
    let team = system.team_with_project(&ada, "engines").await;
    system.add_member(&ada, &team, &bob).await;
    let (of_bob, bobs_secret) = make(&system, &bob, "bob", None).await;
    let (of_team, teams_secret) = make(&system, &ada, "team", Some(team.id)).await;
    let start = system.now();
    let session = system.started(&bob, &team.project_id()).await;
    let mut calls = vec![
        system.chat.next_message().await,
        system.chat.next_message().await,
    ];
    // A clock that jumps during a call would end the sender's lease.
    for (path, owner) in [(&of_bob, &bob), (&of_team, &ada)] {
        log(&system, owner, path, 1, "delivered").await;
    }
    system.minutes_pass(25);
    let body = execution(&session, &team.project_id(), start, system.now());
    system.submit(&bob, body).await.expect(200);
    calls.extend([
        system.chat.next_message().await,
        system.chat.next_message().await,
    ]);

    for (name, secret, other) in [
        ("bob", &bobs_secret, &teams_secret),
        ("team", &teams_secret, &bobs_secret),
    ] {
        let path = format!("/services/{name}");
        let heard: Vec<&ChatMessage> = calls.iter().filter(|call| call.path == path).collect();
        let types: Vec<&Value> = heard.iter().map(|call| &call.body["type"]).collect();
        assert_eq!(
            types,
            ["session.started.v1", "session.submitted.v1"],
            "{name}"
        );
        for call in heard {
            assert!(call.is_signed_with(secret) && !call.is_signed_with(other));
            assert_eq!(call.body["specversion"], "1.0");
            assert_eq!(call.body["data"]["session_id"], session.as_str());
            assert_eq!(
                call.body["data"]["user"],
                json!({"id": bob.id, "username": "bob"})
            );
            let text = String::from_utf8(call.raw.clone()).unwrap();
            assert!(
                !text.contains("It parses"),
                "the execution note is nobody else's: {text}"
            );
        }
    }
    assert_eq!(calls[0].body["data"]["planning_note"], "Write the parser");
    for (path, owner) in [(&of_bob, &bob), (&of_team, &ada)] {
        let calls = log(&system, owner, path, 2, "delivered").await;
        assert!(
            calls
                .iter()
                .all(|call| call["status_code"] == 200 && call["attempts"] == 1)
        );
        assert_eq!(calls[0]["event_type"], "session.submitted.v1");
        assert_eq!(calls[1]["session_id"], session.as_str());
    }
    // Ada's own session concerns neither Bob's webhook nor the team's.
    system.start_session(&ada, plan("none")).await.expect(201);
    post(&system, &bob, &format!("{of_bob}/test")).await;
    assert_eq!(
        system.chat.next_message().await.body["type"],
        "webhook.test.v1"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_call_is_retried_and_replayed_and_a_receiver_that_is_gone_is_disabled() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let (webhook, first_secret) = make(&system, &ada, "a", None).await;
    system.chat.script([ChatReply::Status(500)]);
    system.started(&ada, "none").await;
    let failed = next(&system, "a").await;
    let waiting = log(&system, &ada, &webhook, 1, "pending").await;
    wait_until("the try to be noted", PATIENCE, async || {
        let calls = log(&system, &ada, &webhook, 1, "pending").await;
        (calls[0]["status_code"] == 500).then_some(())
    })
    .await;
    system.clock.advance(chrono::TimeDelta::seconds(5));
    let again = next(&system, "a").await;
    assert_eq!(
        (again.header("webhook-id"), &again.raw),
        (failed.header("webhook-id"), &failed.raw)
    );
    assert_eq!(waiting[0]["id"], again.header("webhook-id"));
    let done = log(&system, &ada, &webhook, 1, "delivered").await;
    assert_eq!(
        (&done[0]["attempts"], &done[0]["status_code"]),
        (&json!(2), &json!(200))
    );

    let rotate = system
        .work
        .post(&format!("{webhook}/rotate-secret"))
        .bearer(&ada.token);
    let rotated = rotate.json(json!({})).send().await.expect(200).json();
    let second_secret = rotated["secret"].as_str().unwrap();
    let path = format!("{webhook}/deliveries/{}/replay", again.header("webhook-id"));
    // When a test call arrives, the notifier has the new secret.
    post(&system, &ada, &format!("{webhook}/test")).await;
    next(&system, "a").await;
    post(&system, &ada, &path).await;
    let replayed = next(&system, "a").await;
    assert_eq!(replayed.raw, failed.raw);
    assert!(replayed.is_signed_with(&first_secret) && replayed.is_signed_with(second_secret));
    checked_by_the_documents_program(second_secret, &replayed);

    system.chat.usually(ChatReply::Status(410));
    post(&system, &ada, &format!("{webhook}/test")).await;
    let shown = wait_until("the webhook to be off", PATIENCE, async || {
        let call = system.work.get(&webhook).bearer(&ada.token);
        let shown = call.send().await.expect(200).json();
        (shown["webhook"]["status"] == "off").then_some(shown)
    })
    .await;
    assert_eq!(shown["webhook"]["reason"], "The receiver answered 410");
}

/// Checks a call with `docs/webhooks/receive.py`, if there is Python.
fn checked_by_the_documents_program(secret: &str, call: &ChatMessage) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/webhooks");
    let program = "import json, sys, receive; call = json.load(sys.stdin); \
        receive.verify(call['secret'], call['headers'], call['body'].encode(), int(call['headers']['webhook-timestamp']))";
    let headers: serde_json::Map<String, Value> = call
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let mut body = String::from_utf8(call.raw.clone()).unwrap();
    for good in [true, false] {
        let python = Command::new("python3")
            .args(["-B", "-c", program])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut python = match python {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            started => started.unwrap(),
        };
        let input = json!({"secret": secret, "headers": headers, "body": body});
        let mut stdin = python.stdin.take().unwrap();
        stdin.write_all(input.to_string().as_bytes()).unwrap();
        drop(stdin);
        let output = python.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.success(), good, "{said}");
        assert_eq!(
            said.contains("not signed with this secret"),
            !good,
            "{said}"
        );
        body.push(' ');
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_tested_and_the_result_is_shown() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "engines").await;
    system.connect_chat(&ada, &team, "hook").await;
    let chat = format!("/api/team-projects/{}/chat", team.project);
    for (reply, outcome, reason) in [
        (200, "delivered", Value::Null),
        (400, "failed", json!("The chat answered 400")),
    ] {
        system.chat.usually(ChatReply::Status(reply));
        let asked = post(&system, &ada, &format!("{chat}/test")).await;
        assert_eq!(asked["chat"]["last_test"]["outcome"], "pending");
        let message = system.chat.next_message().await;
        assert!(
            message.text().contains("Test message from *ada*"),
            "{}",
            message.text()
        );
        let shown = wait_until("the end of the test", PATIENCE, async || {
            let call = system.work.get(&chat).bearer(&ada.token);
            let test = call.send().await.expect(200).json()["chat"]["last_test"].clone();
            (test["outcome"] != "pending").then_some(test)
        })
        .await;
        assert_eq!(
            (&shown["outcome"], &shown["reason"]),
            (&json!(outcome), &reason)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_account_deletes_its_webhooks_and_their_deliveries() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let (webhook, _) = make(&system, &ada, "a", None).await;
    system.chat.usually(ChatReply::Status(500));
    system.started(&ada, "none").await;
    next(&system, "a").await;
    log(&system, &ada, &webhook, 1, "pending").await;
    let body = json!({"password": crate::harness::PASSWORD});
    let path = format!("/api/auth/user/{}", ada.id);
    let call = system.identity.delete(&path).bearer(&ada.token);
    call.json(body).send().await.expect(204);
    wait_until("nothing of hers to be left", PATIENCE, async || {
        let left = [
            count(&system, 1, "webhooks"),
            count(&system, 1, "webhook_deliveries"),
            count(&system, 2, "deliveries WHERE medium = 'webhook'"),
            // The notifier keeps a removed destination for a while, without its address.
            count(
                &system,
                2,
                "destinations WHERE medium = 'webhook' AND (state <> 'removed' OR sealed IS NOT NULL)",
            ),
        ];
        (left == [0; 4]).then_some(())
    })
    .await;
}
