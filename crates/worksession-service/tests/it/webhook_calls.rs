//! Webhook deliveries and their log; the test plays the notifier.

use chrono::TimeDelta;
use event_types::{WebhookAttempted, WebhookDisabled, WebhookDue, WebhookOutcome, WebhookReplayed};
use serde_json::{Value, json};
use test_kit::wait_until;
use uuid::Uuid;

use crate::identity_events::{PATIENCE, World, data};
use crate::person::Person;
use crate::rows;
use crate::webhooks::{make, path_of};

const URL: &str = "https://hooks.example/x";

async fn log(person: &Person<'_>, webhook: &Value) -> Vec<Value> {
    let path = format!("{}/deliveries", path_of(webhook));
    let page = person.get(&path).await.expect(200).json();
    assert_eq!(page["next_cursor"], Value::Null);
    page["deliveries"].as_array().unwrap().clone()
}

/// Requests a test; returns its delivery.
pub async fn test(person: &Person<'_>, webhook: &Value) -> Value {
    let path = format!("{}/test", path_of(webhook));
    let asked = person.post(&path, json!({})).await.expect(202).json();
    asked["delivery"].clone()
}

/// Returns the notifier's report on an attempt.
fn word(
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
async fn until(person: &Person<'_>, webhook: &Value, field: &str, value: Value) -> Value {
    wait_until("the log to tell", PATIENCE, async || {
        let first = log(person, webhook).await.first().cloned();
        first.filter(|call| call[field] == value)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_triggers_the_subscribed_webhooks_of_user_and_team() {
    let world = World::start().await;
    let (_chat, _) = world.destinations();
    let (ada, bob) = (
        Person::member(&world.service, 7),
        Person::member(&world.service, 8),
    );
    let started = json!({"url": URL, "events": ["session.started.v1"]});
    let (own, _) = make(&ada, started).await;
    let (team, _) = make(&ada, json!({"url": URL, "team_id": 3})).await;
    let (others, _) = make(&bob, json!({"url": URL})).await;
    let project = ada.team_project().await;
    let plan =
        json!({"category": "coding", "duration": 25, "project_id": project, "note": "the plan"});
    let session = ada.start(plan).await;
    world.service.clock.advance(TimeDelta::minutes(25));
    let honest = crate::person::honest(&session, &world.service);
    ada.submit(honest).await.expect(200);

    let mut due = world.told::<WebhookDue>(3).await;
    due.sort_by_key(|due| (due.webhook_id, due.event.event_type.clone()));
    let told: Vec<_> = due
        .iter()
        .map(|due| (json!(due.webhook_id), due.event.event_type.as_str()))
        .collect();
    let (own_id, team_id) = (own["id"].clone(), team["id"].clone());
    assert_eq!(
        told,
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

    let call = log(&ada, &own).await;
    let expected = json!([{
        "id": due[0].delivery_id, "event_id": due[0].event.id, "event_type": "session.started.v1",
        "session_id": session["session_id"], "state": "pending", "attempts": 0, "status_code": null,
        "duration_ms": null, "reason": null, "created_at": call[0]["created_at"], "last_attempt_at": null,
        "next_attempt_at": null,
    }]);
    assert_eq!(json!(call), expected);
    assert_eq!(
        log(&bob, &team).await.len(),
        2,
        "a webhook of the team is the team's"
    );
    assert_eq!(log(&bob, &others).await, [] as [Value; 0]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivered_session_event_creates_one_delivery() {
    let world = World::start().await;
    let (_chat, _) = world.destinations();
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    ada.start_coding().await;
    let first = world.told::<WebhookDue>(1).await.remove(0);
    let body = first.event.encode().unwrap().into_bytes();
    world
        .publish(first.event.id, "session.started.v1", body)
        .await;
    // The next event makes a delivery, the redelivered one does not.
    ada.start(json!({"category": "study", "duration": 25}))
        .await;
    let due = world.told::<WebhookDue>(2).await;
    assert_ne!(due[0].event.id, due[1].event.id);
    assert_eq!(log(&ada, &webhook).await.len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_delivery_log_keeps_the_latest_attempt_in_any_order() {
    let world = World::start().await;
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    let asked = test(&ada, &webhook).await;
    assert_eq!(
        (&asked["state"], &asked["event_type"]),
        (&json!("pending"), &json!("webhook.test.v1"))
    );
    assert_eq!(asked["session_id"], Value::Null);
    let due = world.told::<WebhookDue>(1).await.remove(0);
    assert_eq!(json!(due.delivery_id), asked["id"]);
    assert_eq!(
        data(&due.event),
        json!({"webhook_id": webhook["id"], "requested_by": "person7"})
    );

    let now = world.service.time.now();
    let mut second = word(&asked, 2, WebhookOutcome::Pending, now);
    second.next_attempt_at = Some(now + TimeDelta::minutes(5));
    world.tell(&second).await;
    let call = until(&ada, &webhook, "attempts", json!(2)).await;
    let late = word(&asked, 1, WebhookOutcome::Failed, now);
    world.taken_in(world.tell(&late).await).await;
    assert_eq!(log(&ada, &webhook).await, std::slice::from_ref(&call));
    assert_eq!(
        call,
        json!({
            "id": asked["id"], "event_id": asked["event_id"], "event_type": "webhook.test.v1", "session_id": null,
            "state": "pending", "attempts": 2, "status_code": 503, "duration_ms": 12,
            "reason": "The receiver answered 503", "created_at": asked["created_at"], "last_attempt_at": now,
            "next_attempt_at": now + TimeDelta::minutes(5),
        })
    );
    let mut third = word(&asked, 3, WebhookOutcome::Delivered, now);
    (third.reason, third.status_code) = (None, Some(204));
    world.tell(&third).await;
    let call = until(&ada, &webhook, "state", json!("delivered")).await;
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
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    let (other, _) = make(&ada, json!({"url": URL})).await;
    let call = test(&ada, &webhook).await;
    let replay = |webhook: &Value, id: &str| format!("{}/deliveries/{id}/replay", path_of(webhook));
    let id = call["id"].as_str().unwrap();
    let path = replay(&webhook, id);
    let early = ada.post(&path, json!({})).await.expect(409).json();
    assert_eq!(early, json!({"error": "Delivery is still under way"}));
    let now = world.service.time.now();
    world
        .tell(&word(&call, 1, WebhookOutcome::Failed, now))
        .await;
    until(&ada, &webhook, "state", json!("failed")).await;

    let asking = (0..16).map(|_| {
        let call = world.service.api.post(&path).bearer(&ada.token);
        tokio::spawn(call.json(json!({})).send())
    });
    let mut accepted = Vec::new();
    for task in asking.collect::<Vec<_>>() {
        let reply = task.await.unwrap();
        if reply.status == 202 {
            accepted.push(reply.json());
        } else {
            reply.expect(409);
        }
    }
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0]["delivery"]["state"], "pending");
    let replayed = world.told::<WebhookReplayed>(1).await.remove(0);
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
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    let call = test(&ada, &webhook).await;
    let now = world.service.time.now();
    world
        .tell(&word(&call, 1, WebhookOutcome::Failed, now))
        .await;
    until(&ada, &webhook, "state", json!("failed")).await;
    let id = call["id"].as_str().unwrap();
    let path = format!("{}/deliveries/{id}/replay", path_of(&webhook));
    for _ in 0..3 {
        ada.post(&path, json!({})).await.expect(202);
        let mut forgotten = word(&call, i64::MAX, WebhookOutcome::Failed, now);
        (forgotten.attempts, forgotten.status_code) = (0, None);
        forgotten.duration_ms = None;
        forgotten.reason = Some("The call is no longer stored".to_owned());
        world.tell(&forgotten).await;
        let ended = until(&ada, &webhook, "state", json!("failed")).await;
        assert_eq!(ended["reason"], "The call is no longer stored");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_webhook_gets_no_deliveries_until_updated() {
    let world = World::start().await;
    let (_chat, _) = world.destinations();
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    let (witness, _) = make(&ada, json!({"url": URL})).await;
    let path = path_of(&webhook);
    let off = |revision| WebhookDisabled {
        webhook_id: webhook["id"].as_i64().unwrap(),
        revision,
        reason: "The receiver answered 410".to_owned(),
    };
    ada.put(&path, json!({"description": "new"}))
        .await
        .expect(200);
    world.taken_in(world.tell(&off(1)).await).await;
    assert_eq!(ada.get(&path).await.json()["webhook"]["status"], "active");
    world.tell(&off(2)).await;
    let shown = wait_until("it to be off", PATIENCE, async || {
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
    let due = world.told::<WebhookDue>(1).await.remove(0);
    assert_eq!(json!(due.webhook_id), witness["id"]);

    let changed = ada.put(&path, json!({})).await.expect(200).json();
    assert_eq!(
        (&changed["webhook"]["status"], &changed["webhook"]["reason"]),
        (&json!("active"), &Value::Null)
    );
    test(&ada, &webhook).await;
    let due = world.told::<WebhookDue>(2).await;
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
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    let (other, _) = make(&ada, json!({"url": URL})).await;
    let mut asked = Vec::new();
    for _ in 0..5 {
        world.service.clock.advance(TimeDelta::seconds(1));
        asked.insert(0, test(&ada, &webhook).await["id"].clone());
    }
    test(&ada, &other).await;
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
    assert_eq!(read, asked);
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
    wait_until("what it left to go", PATIENCE, async || {
        let (calls, webhooks) = (left(&other), both.clone());
        (rows::count(&world.service, &calls) + rows::count(&world.service, &webhooks) == 0)
            .then_some(())
    })
    .await;
    assert_eq!(rows::count(&world.service, &left(&webhook)), 5);
    // The last test was requested a second after the one before it.
    world
        .service
        .clock
        .advance(TimeDelta::days(30) - TimeDelta::milliseconds(500));
    wait_until("the old ones to go", PATIENCE, async || {
        (rows::count(&world.service, &left(&webhook)) == 1).then_some(())
    })
    .await;
    assert_eq!(log(&ada, &webhook).await[0]["id"], asked[0]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_tests_are_limited_to_60_an_hour() {
    let world = World::start().await;
    let ada = Person::member(&world.service, 7);
    let (webhook, _) = make(&ada, json!({"url": URL})).await;
    for _ in 0..60 {
        test(&ada, &webhook).await;
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
