//! A chat that hangs, RabbitMQ down, PostgreSQL down: what still works, how the rest is refused, and that everything
//! recovers by itself.

use std::time::{Duration, Instant};

use serde_json::json;
use test_kit::{ChatReply, FakeChat, TestBackend, wait_until};

use crate::harness::{Options, PASSWORD, System, User, plan};

const SOON: Duration = Duration::from_secs(20);
/// In each area, a request waits two seconds for a connection; the rest is for a debug build on a busy machine.
const IN_TIME: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_chat_delays_neither_starts_nor_other_chats() {
    let system = System::start().await;
    let (ada, bob) = (
        system.register_user("ada").await,
        system.register_user("bob").await,
    );
    let hanging = system.team_with_project(&ada, "hanging").await;
    let lively = system.team_with_project(&bob, "lively").await;
    system.chat.usually(ChatReply::Hang);
    system.connect_chat(&ada, &hanging, "hangs").await;
    let answering = FakeChat::start().await;
    let body = json!({"provider": "slack", "webhook_url": answering.hook("answers")});
    let path = format!("/api/team-projects/{}/chat", lively.project);
    let put = system.work.put(&path).bearer(&bob.token).json(body);
    put.send().await.expect(200);

    for _ in 0..10 {
        quick_start(&system, &ada, &hanging.project_id()).await;
        quick_start(&system, &bob, &lively.project_id()).await;
        answering.next_message().await;
        system.minutes_pass(1);
    }
    system.chat.next_message().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_start_without_the_broker_and_are_notified_once_it_is_back() {
    if TestBackend::current() == TestBackend::Sqlite {
        return; // The memory broker goes down only with the process.
    }
    let system = System::with(Options {
        outages: true,
        ..Options::default()
    })
    .await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "engines").await;
    system.connect_chat(&ada, &team, "hook").await;
    quick_start(&system, &ada, &team.project_id()).await;
    system.chat.next_message().await;

    system.broker_proxy().cut();
    let health = wait_until("the report to name the broker", SOON, async || {
        let health = system.work.get("/api/health").send().await;
        (health.status == 503).then(|| health.json())
    });
    let issues = health.await["issues"].to_string().to_lowercase();
    assert!(issues.contains("chat"), "{issues}");
    system.work.get("/health/ready").send().await.expect(200);
    for _ in 0..5 {
        system.minutes_pass(1);
        quick_start(&system, &ada, &team.project_id()).await;
    }
    assert_eq!(told_starts(&system), 1, "nobody can have heard");

    system.broker_proxy().restore();
    // Notifications that are due together share one message.
    wait_until(
        "every start to be told",
        Duration::from_secs(60),
        async || (told_starts(&system) >= 6).then_some(()),
    )
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(told_starts(&system), 6, "and told once");
    wait_until("a healthy report", SOON, async || {
        (system.work.get("/api/health").send().await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_database_requests_fail_in_time_and_work_once_it_is_back() {
    if TestBackend::current() == TestBackend::Sqlite {
        return; // A file does not go down.
    }
    let system = System::with(Options {
        outages: true,
        ..Options::default()
    })
    .await;
    let ada = system.register_user("ada").await;
    system.start_session(&ada, plan("none")).await.expect(201);

    system.database_proxy().cut();
    let login = json!({"username": "ada", "password": PASSWORD});
    // A sign-in stays cached for the second within which a change would arrive.
    wait_until(
        "the memory of who is signed in to be given up",
        SOON,
        async || {
            let call = system.identity.get("/api/auth/me").bearer(&ada.token);
            (call.send().await.status == 503).then_some(())
        },
    )
    .await;
    for _ in 0..3 {
        let login = system.identity.post("/api/auth/login").json(login.clone());
        let me = system.identity.get("/api/auth/me").bearer(&ada.token);
        let data = system.work.get("/api/user/data").bearer(&ada.token);
        let start = system.work.post("/api/clienta_timer_start");
        let start = start.bearer(&ada.token).json(plan("none"));
        for call in [login, me, data, start] {
            let asked = Instant::now();
            let reply = call.send().await.expect(503);
            let took = asked.elapsed();
            assert!(took < IN_TIME, "{}: {took:?}", reply.call);
            let body = reply.json();
            assert!(body["error"].is_string(), "{body}");
            assert!(!reply.header("retry-after").is_empty(), "{}", reply.call);
        }
    }
    system
        .identity
        .get("/health/ready")
        .send()
        .await
        .expect(503);
    system.identity.get("/health/live").send().await.expect(200);
    system.work.get("/api/health").send().await.expect(503);

    system.database_proxy().restore();
    wait_until("answers again", SOON, async || {
        let reply = system
            .identity
            .post("/api/auth/login")
            .json(login.clone())
            .send()
            .await;
        (reply.status == 200).then_some(())
    })
    .await;
    wait_until("sessions again", SOON, async || {
        let reply = system
            .work
            .get("/api/user/data")
            .bearer(&ada.token)
            .send()
            .await;
        (reply.status == 200).then_some(())
    })
    .await;
    system
        .identity
        .get("/health/ready")
        .send()
        .await
        .expect(200);
}

/// Counts the starts in the chat's messages, of which one message may have several.
fn told_starts(system: &System) -> usize {
    let told =
        |message: &test_kit::ChatMessage| message.text().matches("started a focus session").count();
    system.chat.messages().iter().map(told).sum()
}

/// Starts without waiting for a chat or a broker, which take ten seconds to fail. The contract allows 200 ms; this limit
/// is for a debug build on a busy machine.
async fn quick_start(system: &System, user: &User, project: &str) {
    let asked = Instant::now();
    system.started(user, project).await;
    assert!(
        asked.elapsed() < Duration::from_secs(5),
        "{:?}",
        asked.elapsed()
    );
}
