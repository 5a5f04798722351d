//! Webhooks over HTTP: who may create, read, change and delete which.

use chrono::TimeDelta;
use event_types::{WebhookConfigured, WebhookTarget};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};

use crate::broker_fixture::World;
use crate::caller::{Caller, parse_time};
use crate::database;
use crate::service_fixture::Service;
use crate::webhook_fixture::{create_webhook, path_of};

const PATH: &str = "/api/webhooks";
const URL: &str = "https://hooks.example:8443/very/secret?token=hidden";
const EVENTS: [&str; 3] = [
    "session.started.v1",
    "session.submitted.v1",
    "session.abandoned.v1",
];

/// Opens the sealed settings that the notifier gets of a webhook.
fn open_target(event: &WebhookConfigured) -> WebhookTarget {
    let context = WebhookConfigured::seal_context(event.webhook_id, event.revision);
    let sealer = SealingKeys::new(&[7; 32], [])
        .sealer(Purpose::Webhooks)
        .unwrap();
    let plain = sealer
        .open(&context, event.sealed.as_ref().unwrap())
        .unwrap();
    serde_json::from_slice(plain.expose_secret()).unwrap()
}

fn secrets(target: &WebhookTarget) -> Vec<&str> {
    let all = target.secrets.iter();
    all.map(|secret| secret.secret.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_created_shown_changed_and_deleted() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    assert_eq!(
        ada.get(PATH).await.expect(200).json(),
        json!({"success": true, "webhooks": []})
    );
    let reply = ada
        .post(PATH, json!({"url": URL, "description": " the wall "}))
        .await
        .expect(201);
    assert_eq!(reply.header("cache-control"), "no-store");
    let made = reply.json();
    let secret = made["secret"].as_str().unwrap();
    assert!(
        secret.starts_with("whsec_") && secret.len() == 50,
        "{}",
        secret.len()
    );
    let now = json!(service.time.now());
    let webhook = json!({
        "id": made["webhook"]["id"], "team_id": null, "origin": "https://hooks.example:8443", "events": EVENTS,
        "description": "the wall", "status": "active", "reason": null, "created_by": 7, "client_id": null, "created_at": now, "updated_at": now,
        "secret_changed_at": now,
    });
    assert_eq!(
        made,
        json!({"success": true, "webhook": webhook, "secret": secret})
    );
    let path = path_of(&webhook);
    assert_eq!(
        ada.get(&path).await.expect(200).json(),
        json!({"success": true, "webhook": webhook})
    );
    assert_eq!(
        ada.get(PATH).await.expect(200).json(),
        json!({"success": true, "webhooks": [webhook]})
    );

    service.clock.advance(TimeDelta::hours(1));
    let body = json!({"events": ["session.submitted.v1"], "url": "https://other.example"});
    let changed = ada.put(&path, body).await.expect(200).json();
    let mut expected = webhook.clone();
    expected["events"] = json!(["session.submitted.v1"]);
    expected["origin"] = json!("https://other.example");
    expected["updated_at"] = json!(service.time.now());
    assert_eq!(changed, json!({"success": true, "webhook": expected}));
    let same = ada.put(&path, json!({})).await.expect(200).json();
    assert_eq!(same, changed, "absent fields stay");

    let rotated = ada
        .post(&format!("{path}/rotate-secret"), json!({}))
        .await
        .expect(200)
        .json();
    assert_ne!(rotated["secret"], made["secret"]);
    assert_eq!(
        parse_time(&rotated["webhook"]["secret_changed_at"]),
        service.time.now()
    );

    ada.delete(&path).await.expect(204);
    for gone in [
        ada.get(&path).await,
        ada.put(&path, json!({})).await,
        ada.delete(&path).await,
        ada.get(&format!("{path}/deliveries")).await,
        ada.post(&format!("{path}/test"), json!({})).await,
        ada.post(&format!("{path}/rotate-secret"), json!({})).await,
    ] {
        assert_eq!(
            gone.expect(404).json(),
            json!({"error": "Webhook not found"})
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_webhook_is_refused_with_a_message() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let events =
        "events must be some of: session.started.v1, session.submitted.v1, session.abandoned.v1";
    let with = |field: &str, value: Value| {
        let mut body = json!({"url": URL});
        body[field] = value;
        body
    };
    let refusals = [
        (json!({}), "url is required"),
        (
            json!({"url": "http://hooks.example/"}),
            "url must start with https://",
        ),
        (
            json!({"url": "hooks.example"}),
            "url is not a valid address",
        ),
        (
            json!({"url": "https://ada:secret@hooks.example/"}),
            "url must not contain a user name or password",
        ),
        (
            json!({"url": format!("https://h.example/{}", "x".repeat(2_048))}),
            "url is too long",
        ),
        (with("events", json!([])), events),
        (with("events", json!(["session.started"])), events),
        (with("events", json!(["webhook.test.v1"])), events),
        (
            with("description", json!("x".repeat(201))),
            "description must have at most 200 characters",
        ),
        (
            with("description", json!("a\nb")),
            "description must be a single line without control characters, invisible ones or ones that turn text",
        ),
    ];
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    for (body, sentence) in refusals {
        let refused = ada.post(PATH, body.clone()).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}), "{body}");
        if body != json!({}) {
            let refused = ada.put(&path_of(&webhook), body).await.expect(400);
            assert_eq!(refused.json(), json!({"error": sentence}));
        }
    }
    for body in [
        json!({"url": 5}),
        with("events", json!("session.started.v1")),
        with("team_id", json!("3")),
        with("team_id", json!(0)),
        json!([]),
    ] {
        ada.post(PATH, body).await.expect(400);
    }
    for id in ["0", "-1", "007", "1e3", "x", "9223372036854775808"] {
        let missing = ada.get(&format!("{PATH}/{id}")).await.expect(404);
        assert_eq!(
            missing.json(),
            json!({"error": "Webhook not found"}),
            "{id}"
        );
    }
    let listed = ada.get(PATH).await.json();
    assert_eq!(listed["webhooks"].as_array().unwrap().len(), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teams_webhooks_are_for_its_managers_and_a_users_webhooks_for_nobody_else() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, eve) = (Caller::member(&service, 7), Caller::member(&service, 8));
    let (bob, out) = (
        Caller::colleague(&service, 9),
        Caller::outsider(&service, 10),
    );
    let (own, _) = create_webhook(&ada, json!({"url": URL})).await;
    let (team, _) = create_webhook(&ada, json!({"url": URL, "team_id": 3})).await;
    assert_eq!(team["team_id"], 3);
    let ids = |reply: Value| -> Vec<Value> {
        let all = reply["webhooks"].as_array().unwrap().iter();
        all.map(|webhook| webhook["id"].clone()).collect()
    };
    assert_eq!(
        ids(ada.get(PATH).await.json()),
        [own["id"].clone(), team["id"].clone()]
    );
    assert_eq!(ids(eve.get(PATH).await.json()), [team["id"].clone()]);
    assert_eq!(ids(bob.get(PATH).await.json()), [] as [Value; 0]);
    eve.put(&path_of(&team), json!({"description": "ours"}))
        .await
        .expect(200);

    let forbidden = json!({"error": "Not authorized to manage this team's webhooks"});
    let not_found = json!({"error": "Webhook not found"});
    let (team, own) = (path_of(&team), path_of(&own));
    for (who, path, status, error) in [
        (&bob, &team, 403, &forbidden),
        (&out, &team, 404, &not_found),
        (&eve, &own, 404, &not_found),
        (&bob, &own, 404, &not_found),
    ] {
        let call = json!({"url": "broken"});
        let replay = format!("{path}/deliveries/01945b7a-0000-7000-8000-000000000001/replay");
        for reply in [
            who.get(path).await,
            who.put(path, call).await,
            who.delete(path).await,
            who.post(&format!("{path}/rotate-secret"), json!({})).await,
            who.post(&format!("{path}/test"), json!({})).await,
            who.get(&format!("{path}/deliveries")).await,
            who.post(&replay, json!({})).await,
        ] {
            assert_eq!(&reply.expect(status).json(), error);
        }
    }
    let for_team = json!({"url": "broken", "team_id": 3});
    let refused = bob.post(PATH, for_team.clone()).await.expect(403);
    assert_eq!(refused.json(), forbidden, "the role comes before the body");
    let refused = out.post(PATH, for_team).await.expect(404);
    assert_eq!(refused.json(), json!({"error": "Team not found"}));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_has_at_most_20_webhooks_even_if_many_are_created_at_once() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let tasks = (0..30).map(|_| {
        let call = service.api.post(PATH).bearer(&ada.token);
        tokio::spawn(call.json(json!({"url": URL})).send())
    });
    let (mut made, mut refused) = (0, 0);
    for task in tasks.collect::<Vec<_>>() {
        let reply = task.await.unwrap();
        if reply.status == 201 {
            made += 1;
        } else {
            let sentence = json!({"error": "There are 20 webhooks already"});
            assert_eq!(reply.expect(409).json(), sentence);
            refused += 1;
        }
    }
    assert_eq!((made, refused), (20, 10));
    // A team's webhooks count separately, and a deletion makes room again.
    let (team, _) = create_webhook(&ada, json!({"url": URL, "team_id": 3})).await;
    ada.delete(&path_of(&team)).await.expect(204);
    let all = ada.get(PATH).await.json();
    ada.delete(&path_of(&all["webhooks"][7])).await.expect(204);
    create_webhook(&ada, json!({"url": URL})).await;
    ada.post(PATH, json!({"url": URL})).await.expect(409);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_webhook_revision_is_published_sealed_and_stored_sealed() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, first) = create_webhook(&ada, json!({"url": URL})).await;
    let path = path_of(&webhook);
    let rotate = format!("{path}/rotate-secret");
    let second = ada.post(&rotate, json!({})).await.expect(200).json();
    let second = second["secret"].as_str().unwrap().to_owned();
    world.service.clock.advance(TimeDelta::hours(24));
    ada.put(&path, json!({"url": "https://other.example/x"}))
        .await
        .expect(200);
    ada.delete(&path).await.expect(204);

    let mut events = world.received::<WebhookConfigured>(4).await;
    events.sort_by_key(|event| event.revision);
    let revisions: Vec<i64> = events.iter().map(|event| event.revision).collect();
    assert_eq!(revisions, [1, 2, 3, 4]);
    let made = open_target(&events[0]);
    assert_eq!(
        (made.url.as_str(), secrets(&made)),
        (URL, vec![first.as_str()])
    );
    let rotated = open_target(&events[1]);
    assert_eq!(rotated.url, URL);
    assert_eq!(
        secrets(&rotated),
        [second.as_str(), &first],
        "both sign for a day"
    );
    let until = rotated.secrets[1].until.unwrap();
    assert_eq!(until, world.service.time.now());
    assert_eq!(rotated.secrets[0].until, None);
    let changed = open_target(&events[2]);
    assert_eq!(changed.url, "https://other.example/x");
    assert_eq!(secrets(&changed), [second.as_str()]);
    assert_eq!(events[3].sealed, None);

    create_webhook(&ada, json!({"url": URL})).await;
    let rows = database::all_rows(&world.service);
    let secrets = [first.as_str(), &second, "whsec_", "very/secret", "hidden"];
    for row in &rows {
        for secret in secrets {
            assert!(!row.text.contains(secret), "{row:?}");
        }
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_webhook_changes_get_a_revision_each_and_lose_no_secret() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (webhook, _) = create_webhook(&ada, json!({"url": URL})).await;
    let path = path_of(&webhook);
    let tasks = (0..16).map(|n| {
        let api = &world.service.api;
        let call = if n == 0 {
            api.post(&format!("{path}/rotate-secret")).json(json!({}))
        } else {
            api.put(&path).json(json!({"description": format!("{n}")}))
        };
        tokio::spawn(call.bearer(&ada.token).send())
    });
    let mut secret = String::new();
    for (n, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        let reply = task.await.unwrap().expect(200).json();
        if n == 0 {
            reply["secret"].as_str().unwrap().clone_into(&mut secret);
        }
    }
    let mut events = world.received::<WebhookConfigured>(17).await;
    events.sort_by_key(|event| event.revision);
    let revisions: Vec<i64> = events.iter().map(|event| event.revision).collect();
    assert_eq!(revisions, (1..=17).collect::<Vec<_>>());
    let last = open_target(events.last().unwrap());
    assert_eq!(secrets(&last)[0], secret);
    world.stop().await;
}
