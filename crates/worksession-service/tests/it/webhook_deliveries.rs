//! Webhook deliveries and their log; the test plays the notifier.

use chrono::TimeDelta;
use event_types::{WebhookAttempted, WebhookDisabled, WebhookDue, WebhookOutcome, WebhookReplayed};
use serde_json::{Value, json};
use test_kit::wait_until;
use uuid::Uuid;

use crate::broker_fixture::{TIMEOUT, World, data};
use crate::caller::Caller;
use crate::database;
use crate::webhook_fixture::{create_webhook, path_of, request_test};

const URL: &str = "https://hooks.example/x";

async fn delivery_log(caller: &Caller<'_>, webhook: &Value) -> Vec<Value> {
    let path = format!("{}/deliveries", path_of(webhook));
    let page = caller.get(&path).await.expect(200).json();
    assert_eq!(page["next_cursor"], Value::Null);
    page["deliveries"].as_array().unwrap().clone()
}

/// Returns the notifier's report on an attempt.
fn attempt_report(
    call: &Value,
    step: i64,
    outcome: WebhookOutcome,
    at: chrono::DateTime<chrono::Utc>,
) -> WebhookAttempted {
    WebhookAttempted {
        webhook_id: 1,
        delivery_id: call["id"].as_str().unwrap().parse().unwrap(),
        step,
        outcome,
        attempts: step,
        status_code: Some(503),
        duration_ms: Some(12),
        reason: Some("The receiver answered 503".to_owned()),
        next_attempt_at: None,
        at,
    }
}

/// Waits for this value in the newest delivery of the webhook's log; returns that delivery.
async fn until_delivery(caller: &Caller<'_>, webhook: &Value, field: &str, value: Value) -> Value {
    wait_until("the delivery", TIMEOUT, async || {
        let first = delivery_log(caller, webhook).await.first().cloned();
        first.filter(|call| call[field] == value)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_triggers_the_subscribed_webhooks_of_user_and_team() {
    let world = World::start().await;
    let (_chat, _) = world.consume_chats();
    let (ada, bob) = (
        Caller::member(&world.service, 7),
        Caller::member(&world.service, 8),
    );
    let started = json!({"url": URL, "events": ["session.started.v1"]});
    let (own, _) = create_webhook(&ada, started).await;
    let (team, _) = create_webhook(&ada, json!({"url": URL, "team_id": 3})).await;
    let (others, _) = create_webhook(&bob, json!({"url": URL})).await;
    let project = ada.team_project().await;
    let plan =
        json!({"category": "coding", "duration": 25, "project_id": project, "note": "the plan"});
    let session = ada.start(plan).await;
    world.service.clock.advance(TimeDelta::minutes(25));
    let honest = crate::caller::honest(&session, &world.service);
    ada.submit(honest).await.expect(200);

    let mut due = world.received::<WebhookDue>(3).await;
    due.sort_by_key(|due| (due.webhook_id, due.event.event_type.clone()));
    let pairs: Vec<_> = due
        .iter()
        .map(|due| (json!(due.webhook_id), due.event.event_type.as_str()))
        .collect();
    let (own_id, team_id) = (own["id"].clone(), team["id"].clone());
    assert_eq!(
        pairs,
        [
            (own_id, "session.started.v1"),
            (team_id.clone(), "session.started.v1"),
            (team_id, "session.submitted.v1"),
        ]
    );
    assert_eq!(due[0].event.id, due[1].event.id);
    assert_ne!(due[0].delivery_id, due[1].delivery_id);
    assert_eq!(data(&due[0].event)["session_id"], session["session_id"]);
    assert_eq!(data(&due[0].event)["planning_note"], "the plan");
    assert_eq!((due[0].user_id.get(), due[0].revision), (7, 1));

    let call = delivery_log(&ada, &own).await;
    let expected = json!([{
        "id": due[0].delivery_id, "event_id": due[0].event.id, "event_type": "session.started.v1",
        "session_id": session["session_id"], "state": "pending", "attempts": 0, "status_code": null,
        "duration_ms": null, "reason": null, "created_at": call[0]["created_at"], "last_attempt_at": null,
        "next_attempt_at": null,
    }]);
    assert_eq!(json!(call), expected);
    assert_eq!(
        delivery_log(&bob, &team).await.len(),
        2,
        "a webhook of the team is the team's"
    );
    assert_eq!(delivery_log(&bob, &others).await, [] as [Value; 0]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivered_session_event_creates_one_delivery() {
    let world = World::start().await;
    let (_chat, _) = world.consume_chats();
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    ada.start_coding().await;
    let first = world.received::<WebhookDue>(1).await.remove(0);
    let body = first.event.encode().unwrap().into_bytes();
    world
        .publish_bytes(first.event.id, "session.started.v1", body)
        .await;
    // The next event makes a delivery, the redelivered one does not.
    ada.start(json!({"category": "study", "duration": 25}))
        .await;
    let due = world.received::<WebhookDue>(2).await;
    assert_ne!(due[0].event.id, due[1].event.id);
    assert_eq!(delivery_log(&ada, &webhook).await.len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_delivery_log_keeps_the_latest_attempt_in_any_order() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    let delivery = request_test(&ada, &webhook).await;
    assert_eq!(
        (&delivery["state"], &delivery["event_type"]),
        (&json!("pending"), &json!("webhook.test.v1"))
    );
    assert_eq!(delivery["session_id"], Value::Null);
    let due = world.received::<WebhookDue>(1).await.remove(0);
    assert_eq!(json!(due.delivery_id), delivery["id"]);
    assert_eq!(
        data(&due.event),
        json!({"webhook_id": webhook["id"], "requested_by": "person7"})
    );

    let now = world.service.time.now();
    let mut second = attempt_report(&delivery, 2, WebhookOutcome::Pending, now);
    second.next_attempt_at = Some(now + TimeDelta::minutes(5));
    world.publish(&second).await;
    let call = until_delivery(&ada, &webhook, "attempts", json!(2)).await;
    let late = attempt_report(&delivery, 1, WebhookOutcome::Failed, now);
    world.until_consumed(world.publish(&late).await).await;
    assert_eq!(
        delivery_log(&ada, &webhook).await,
        std::slice::from_ref(&call)
    );
    assert_eq!(
        call,
        json!({
            "id": delivery["id"], "event_id": delivery["event_id"], "event_type": "webhook.test.v1", "session_id": null,
            "state": "pending", "attempts": 2, "status_code": 503, "duration_ms": 12,
            "reason": "The receiver answered 503", "created_at": delivery["created_at"], "last_attempt_at": now,
            "next_attempt_at": now + TimeDelta::minutes(5),
        })
    );
    let mut third = attempt_report(&delivery, 3, WebhookOutcome::Delivered, now);
    (third.reason, third.status_code) = (None, Some(204));
    world.publish(&third).await;
    let call = until_delivery(&ada, &webhook, "state", json!("delivered")).await;
    assert_eq!(
        (
            &call["status_code"],
            &call["reason"],
            &call["next_attempt_at"]
        ),
        (&json!(204), &Value::Null, &Value::Null)
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_concurrent_replays_of_a_delivery_one_is_accepted() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    let (other, _) = create_webhook(&ada, json!({"url": URL})).await;
    let call = request_test(&ada, &webhook).await;
    let replay = |webhook: &Value, id: &str| format!("{}/deliveries/{id}/replay", path_of(webhook));
    let id = call["id"].as_str().unwrap();
    let path = replay(&webhook, id);
    let early = ada.post(&path, json!({})).await.expect(409).json();
    assert_eq!(early, json!({"error": "Delivery is still under way"}));
    let now = world.service.time.now();
    world
        .publish(&attempt_report(&call, 1, WebhookOutcome::Failed, now))
        .await;
    until_delivery(&ada, &webhook, "state", json!("failed")).await;

    let replays = (0..16).map(|_| {
        let call = world.service.api.post(&path).bearer(&ada.token);
        tokio::spawn(call.json(json!({})).send())
    });
    let mut accepted = Vec::new();
    for task in replays.collect::<Vec<_>>() {
        let reply = task.await.unwrap();
        if reply.status == 202 {
            accepted.push(reply.json());
        } else {
            reply.expect(409);
        }
    }
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0]["delivery"]["state"], "pending");
    let replayed = world.received::<WebhookReplayed>(1).await.remove(0);
    assert_eq!(json!(replayed.delivery_id), call["id"]);
    assert_eq!(json!(replayed.webhook_id), webhook["id"]);

    let unknown = Uuid::now_v7().to_string();
    for path in [
        replay(&webhook, &unknown),
        replay(&webhook, "x"),
        replay(&other, id),
    ] {
        let missing = ada.post(&path, json!({})).await.expect(404).json();
        assert_eq!(missing, json!({"error": "Delivery not found"}), "{path}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_replay_of_a_delivery_that_the_notifier_has_deleted_fails() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    let call = request_test(&ada, &webhook).await;
    let now = world.service.time.now();
    world
        .publish(&attempt_report(&call, 1, WebhookOutcome::Failed, now))
        .await;
    until_delivery(&ada, &webhook, "state", json!("failed")).await;
    let id = call["id"].as_str().unwrap();
    let path = format!("{}/deliveries/{id}/replay", path_of(&webhook));
    for _ in 0..3 {
        ada.post(&path, json!({})).await.expect(202);
        let mut deleted = attempt_report(&call, i64::MAX, WebhookOutcome::Failed, now);
        (deleted.attempts, deleted.status_code) = (0, None);
        deleted.duration_ms = None;
        deleted.reason = Some("The call is no longer stored".to_owned());
        world.publish(&deleted).await;
        let ended = until_delivery(&ada, &webhook, "state", json!("failed")).await;
        assert_eq!(ended["reason"], "The call is no longer stored");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_webhook_gets_no_deliveries_until_updated() {
    let world = World::start().await;
    let (_chat, _) = world.consume_chats();
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    let (witness, _) = create_webhook(&ada, json!({"url": URL})).await;
    let path = path_of(&webhook);
    let off = |revision| WebhookDisabled {
        webhook_id: webhook["id"].as_i64().unwrap(),
        revision,
        reason: "The receiver answered 410".to_owned(),
    };
    ada.put(&path, json!({"description": "new"}))
        .await
        .expect(200);
    world.until_consumed(world.publish(&off(1)).await).await;
    assert_eq!(ada.get(&path).await.json()["webhook"]["status"], "active");
    world.publish(&off(2)).await;
    let shown = wait_until("the webhook to be disabled", TIMEOUT, async || {
        let shown = ada.get(&path).await.expect(200).json();
        (shown["webhook"]["status"] == "off").then_some(shown)
    })
    .await;
    assert_eq!(shown["webhook"]["reason"], "The receiver answered 410");
    let refused = ada
        .post(&format!("{path}/test"), json!({}))
        .await
        .expect(409);
    assert_eq!(refused.json(), json!({"error": "Webhook is not active"}));
    ada.start_coding().await;
    let due = world.received::<WebhookDue>(1).await.remove(0);
    assert_eq!(json!(due.webhook_id), witness["id"]);

    let changed = ada.put(&path, json!({})).await.expect(200).json();
    assert_eq!(
        (&changed["webhook"]["status"], &changed["webhook"]["reason"]),
        (&json!("active"), &Value::Null)
    );
    request_test(&ada, &webhook).await;
    let due = world.received::<WebhookDue>(2).await;
    let due = due
        .iter()
        .find(|due| json!(due.webhook_id) == webhook["id"]);
    let due = due.unwrap();
    assert_eq!(
        (due.revision, due.event.event_type.as_str()),
        (3, "webhook.test.v1")
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_delivery_log_has_pages_and_is_deleted_after_30_days_or_with_its_webhook() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    let (other, _) = create_webhook(&ada, json!({"url": URL})).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        world.service.clock.advance(TimeDelta::seconds(1));
        ids.insert(0, request_test(&ada, &webhook).await["id"].clone());
    }
    request_test(&ada, &other).await;
    let path = format!("{}/deliveries", path_of(&webhook));
    let (mut read, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = ada.get(&format!("{path}{query}")).await.expect(200).json();
        let calls = page["deliveries"].as_array().unwrap();
        assert!(calls.len() <= 2);
        read.extend(calls.iter().map(|call| call["id"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(read, ids);
    for (query, sentence) in [
        ("?limit=0", "limit must be 1 to 200"),
        ("?limit=201", "limit must be 1 to 200"),
        ("?cursor=x", "cursor is not valid"),
    ] {
        let refused = ada.get(&format!("{path}{query}")).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    ada.get(&format!("{path}?limit=x")).await.expect(400);

    let left = |webhook: &Value| {
        format!(
            "SELECT count(*) AS number FROM webhook_deliveries WHERE webhook_id = {}",
            webhook["id"]
        )
    };
    ada.delete(&path_of(&other)).await.expect(204);
    let both = format!(
        "SELECT count(*) AS number FROM webhooks WHERE id = {}",
        other["id"]
    );
    wait_until("the deliveries to be deleted", TIMEOUT, async || {
        let (calls, webhooks) = (left(&other), both.clone());
        (database::count(&world.service, &calls) + database::count(&world.service, &webhooks) == 0)
            .then_some(())
    })
    .await;
    assert_eq!(database::count(&world.service, &left(&webhook)), 5);
    // The last test was requested a second after the one before it.
    world
        .service
        .clock
        .advance(TimeDelta::days(30) - TimeDelta::milliseconds(500));
    wait_until("the old deliveries to be deleted", TIMEOUT, async || {
        (database::count(&world.service, &left(&webhook)) == 1).then_some(())
    })
    .await;
    assert_eq!(delivery_log(&ada, &webhook).await[0]["id"], ids[0]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_tests_are_limited_to_60_an_hour() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    for _ in 0..60 {
        request_test(&ada, &webhook).await;
    }
    let path = format!("{}/test", path_of(&webhook));
    let refused = ada.post(&path, json!({})).await.expect(429);
    assert_eq!(refused.json(), json!({"error": "Too many requests"}));
    assert!(
        refused
            .header("retry-after")
            .parse::<u64>()
            .is_ok_and(|wait| wait >= 1)
    );
    world.stop().await;
}
