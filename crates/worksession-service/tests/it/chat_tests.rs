//! Test messages to a project's chat; the test plays the notifier.

use event_types::{ChatTestRequested, ChatTested};
use serde_json::{Value, json};
use test_kit::wait_until;
use uuid::Uuid;

use crate::broker_fixture::{TIMEOUT, World};
use crate::caller::Caller;

/// Returns the notifier's report on a test.
fn test_report(
    test_id: Uuid,
    project_id: i64,
    outcome: &str,
    reason: Option<&str>,
    world: &World,
) -> ChatTested {
    ChatTested {
        test_id,
        project_id,
        outcome: outcome.to_owned(),
        reason: reason.map(str::to_owned),
        at: world.service.time.now(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_test_is_requested_by_an_event_and_its_result_shown_until_the_chat_changes() {
    let world = World::start().await;
    let (_notifier, received) = world.consume_chat_tests();
    let ada = Caller::member(&world.service, 7);
    let project = world.service.team_project().await;
    let chat = format!("/api/team-projects/{project}/chat");
    let path = format!("{chat}/test");
    let slack = json!({"provider": "slack", "webhook_url": "https://chat.example/x"});
    let none = json!({"error": "No chat is configured"});
    assert_eq!(ada.post(&path, json!({})).await.expect(409).json(), none);
    let set = ada.put(&chat, slack.clone()).await.expect(200).json();
    assert_eq!(set["chat"]["last_test"], Value::Null);

    let now = json!(world.service.time.now());
    let pending = json!({"outcome": "pending", "reason": null, "at": now});
    let first = ada.post(&path, json!({})).await.expect(202).json();
    assert_eq!(first["chat"]["last_test"], pending);
    let first = received_test(&received, 0).await;
    assert_eq!(
        (
            first.project_id,
            first.revision,
            first.project_name.as_str(),
            first.requested_by.as_str()
        ),
        (project, 1, "Beacon", "person7")
    );
    ada.post(&path, json!({})).await.expect(202);
    let second = received_test(&received, 1).await;

    // The second test replaces the first, whose result is ignored.
    let late = test_report(first.test_id, project, "delivered", None, &world);
    world.until_consumed(world.publish(&late).await).await;
    let shown = || async { ada.get(&chat).await.expect(200).json()["chat"]["last_test"].clone() };
    assert_eq!(shown().await, pending);
    let failed = test_report(
        second.test_id,
        project,
        "failed",
        Some("It answered 500"),
        &world,
    );
    world.until_consumed(world.publish(&failed).await).await;
    let expected = json!({"outcome": "failed", "reason": "It answered 500", "at": now});
    assert_eq!(shown().await, expected);

    ada.put(&chat, slack).await.expect(200);
    assert_eq!(shown().await, Value::Null, "the new one was not tested");
    ada.delete(&chat).await.expect(204);
    assert_eq!(ada.post(&path, json!({})).await.expect(409).json(), none);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_owners_and_admins_can_test_a_chat() {
    let world = World::start().await;
    let project = world.service.team_project().await;
    let path = format!("/api/team-projects/{project}/chat/test");
    let forbidden = json!({"error": "Not authorized to change this team project"});
    for who in [
        Caller::colleague(&world.service, 9),
        Caller::outsider(&world.service, 10),
    ] {
        assert_eq!(
            who.post(&path, json!({})).await.expect(403).json(),
            forbidden
        );
    }
    let ada = Caller::member(&world.service, 7);
    for id in ["0", "x", "999"] {
        let path = format!("/api/team-projects/{id}/chat/test");
        let missing = ada.post(&path, json!({})).await.expect(404).json();
        assert_eq!(missing, json!({"error": "Team project not found"}));
    }
    world.stop().await;
}

async fn received_test(
    received: &std::sync::Mutex<Vec<ChatTestRequested>>,
    index: usize,
) -> ChatTestRequested {
    wait_until("the test to be requested", TIMEOUT, async || {
        received.lock().unwrap().get(index).cloned()
    })
    .await
}
