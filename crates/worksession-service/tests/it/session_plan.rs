//! The plan of a session: unchanged in every status, under each name of its fields, and at each limit.

use broker::Broker;
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::caller::{Caller, changed, honest};
use crate::fake_identity::FakeIdentity;
use crate::service_fixture::Service;

const STARTS: [&str; 3] = [
    "/api/clienta_timer_start",
    "/api/clientb_timer_start",
    "/api/session/start",
];

async fn shown_status(caller: &Caller<'_>, started: &Value) -> String {
    let id = started["session_id"].as_str().unwrap();
    let shown = caller
        .get(&format!("/api/get_presession/{id}"))
        .await
        .expect(200)
        .json();
    assert_eq!(
        shown["presession"], started["presession"],
        "locked in every state"
    );
    assert_eq!(shown["started_at"], started["started_at"]);
    assert_eq!(shown["expected_end_at"], started["expected_end_at"]);
    assert_eq!(shown.as_object().unwrap().len(), 6);
    shown["status"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_shown_unchanged_in_every_state() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let first = ada.start_coding().await;
    assert_eq!(shown_status(&ada, &first).await, "running");
    service.clock.advance(TimeDelta::minutes(25));
    let second = ada.start_coding().await;
    assert_eq!(shown_status(&ada, &first).await, "awaiting_submit");
    assert_eq!(shown_status(&ada, &second).await, "running");
    ada.submit(honest(&first, &service)).await.expect(200);
    assert_eq!(shown_status(&ada, &first).await, "completed");
    service.clock.advance(TimeDelta::minutes(20));
    ada.submit(honest(&second, &service)).await.expect(200);
    assert_eq!(shown_status(&ada, &second).await, "partial");
    let third = ada.start_coding().await;
    service
        .clock
        .advance(TimeDelta::minutes(25) + TimeDelta::hours(12));
    ada.submit(honest(&third, &service)).await.expect(200);
    assert_eq!(shown_status(&ada, &third).await, "abandoned");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_name_is_accepted_on_every_start_path() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let owner = Caller::member(&service, 1);
    let project = owner.team_project().await;
    let plain = json!({"category": "study", "duration": 30, "note": "n", "project_id": project});
    let names = [
        ("duration", "planned_duration"),
        ("duration", "plannedDuration"),
        ("note", "planning_note"),
        ("note", "planningNote"),
        ("project_id", "projectId"),
        ("category", "category"),
    ];
    let mut user = 10;
    for path in STARTS {
        for (name, other) in names {
            user += 1;
            let caller = Caller::member(&service, user);
            let mut body = plain.clone();
            let value = body.as_object_mut().unwrap().remove(name).unwrap();
            body[other] = value;
            let started = caller.post(path, body).await.expect(201).json();
            let expected = json!({
                "category": "study", "planned_duration": 30, "planning_note": "n",
                "project": {"id": project, "name": "Engine", "type": "team"},
            });
            assert_eq!(started["presession"], expected, "{path} with {other}");
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_at_the_limits_are_accepted() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let wide = |characters: usize| "\u{1f9ea}".repeat(characters);
    for (category, duration, note) in [
        ("x".to_owned(), 1, String::new()),
        (wide(64), 480, wide(2_000)),
        (
            format!("  {}  ", wide(64)),
            480,
            "\n\t\"'<script>\u{202e}".to_owned(),
        ),
    ] {
        let plan = json!({"category": category, "duration": duration, "note": note});
        let started = ada.start(plan).await;
        let shown = &started["presession"];
        assert_eq!(shown["category"], category.trim());
        assert_eq!(shown["planned_duration"], duration);
        assert_eq!(shown["planning_note"], note);
        service.clock.advance(TimeDelta::minutes(duration));
        let fields = json!({"note": note, "quality_rating": 5, "tags": vec![wide(32); 10]});
        let body = changed(honest(&started, &service), &fields);
        ada.submit(body).await.expect(200);
    }
    // Absent, null and unknown fields are no errors.
    let started = ada
        .start(
            json!({"category": "a", "duration": 1, "note": null, "project_id": null, "more": [{}]}),
        )
        .await;
    let mut body = honest(&started, &service);
    for field in [
        "session_id",
        "category",
        "duration",
        "note",
        "quality_rating",
        "tags",
    ] {
        body[field] = Value::Null;
    }
    body["unknown"] = json!({"deep": [1]});
    let answer = ada.submit(body).await.expect(200).json();
    assert_eq!(answer["session_id"], started["session_id"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn categories_are_restricted_only_if_configured() {
    let identity_url = format!("http://{}", FakeIdentity::default().start("127.0.0.1:0"));
    let settings = json!({"identity_url": identity_url, "categories": {"suggested": "deep work, rest", "strict": true}});
    let service = Service::with(settings, Broker::memory()).await;
    let ada = Caller::outsider(&service, 7);
    for (category, status) in [
        ("deep work", 201),
        (" rest ", 201),
        ("coding", 400),
        ("Rest", 400),
    ] {
        let body = json!({"category": category, "duration": 25});
        let reply = ada
            .post("/api/clienta_timer_start", body)
            .await
            .expect(status);
        if status == 400 {
            assert_eq!(
                reply.json(),
                json!({"error": "category must be one of deep work, rest"})
            );
        }
        service.clock.advance(TimeDelta::minutes(1));
    }
    service.stop().await;
}
