//! What no other file covers of the contract and of the decisions: each state of a plan, each name of a field, each
//! limit at its edge, and how long an idempotency key is valid.

use broker::Broker;
use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::identity::{Service, Stub};
use crate::person::{Person, changed, honest};
use crate::rows::execute;

const STARTS: [&str; 3] = [
    "/api/clienta_timer_start",
    "/api/clientb_timer_start",
    "/api/session/start",
];

async fn state(person: &Person<'_>, started: &Value) -> String {
    let id = started["session_id"].as_str().unwrap();
    let shown = person
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
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
    let first = ada.start_coding().await;
    assert_eq!(state(&ada, &first).await, "running");
    service.clock.advance(TimeDelta::minutes(25));
    let second = ada.start_coding().await;
    assert_eq!(state(&ada, &first).await, "awaiting_submit");
    assert_eq!(state(&ada, &second).await, "running");
    ada.submit(honest(&first, &service)).await.expect(200);
    assert_eq!(state(&ada, &first).await, "completed");
    service.clock.advance(TimeDelta::minutes(20));
    ada.submit(honest(&second, &service)).await.expect(200);
    assert_eq!(state(&ada, &second).await, "partial");
    let third = ada.start_coding().await;
    service
        .clock
        .advance(TimeDelta::minutes(25) + TimeDelta::hours(12));
    ada.submit(honest(&third, &service)).await.expect(200);
    assert_eq!(state(&ada, &third).await, "abandoned");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_name_is_accepted_on_every_start_path() {
    let (service, _stub) = Service::with_stub(0).await;
    let owner = Person::member(&service, 1);
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
            let person = Person::member(&service, user);
            let mut body = plain.clone();
            let value = body.as_object_mut().unwrap().remove(name).unwrap();
            body[other] = value;
            let started = person.post(path, body).await.expect(201).json();
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
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
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

async fn keyed(person: &Person<'_>, key: &str, body: &Value) -> ApiResponse {
    let call = person
        .service
        .api
        .post("/api/session/start")
        .bearer(&person.token);
    call.header("idempotency-key", key)
        .json(body.clone())
        .send()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_valid_for_24_hours_and_for_its_own_user() {
    let (service, _stub) = Service::with_stub(0).await;
    let (ada, bob) = (Person::outsider(&service, 7), Person::outsider(&service, 8));
    let long = json!({"category": "coding", "duration": 480});
    let other = json!({"category": "coding", "duration": 25});
    let first = keyed(&ada, "key", &long).await.expect(201).json();
    // It is valid on every start path, and for this user only.
    let call = service
        .api
        .post("/api/clienta_timer_start")
        .bearer(&ada.token);
    let again = call
        .header("idempotency-key", "key")
        .json(long.clone())
        .send()
        .await;
    assert_eq!(again.expect(200).json(), first);
    keyed(&bob, "key", &other).await.expect(201);
    // The session is open until twelve hours after its planned end.
    service
        .clock
        .advance(TimeDelta::hours(20) - TimeDelta::seconds(1));
    assert_eq!(keyed(&ada, "key", &long).await.expect(200).json(), first);
    service.clock.advance(TimeDelta::hours(4));
    let refused = keyed(&ada, "key", &other).await.expect(422).json();
    assert_eq!(
        refused,
        json!({"error": "Idempotency-Key was used with another request"})
    );
    service.clock.advance(TimeDelta::seconds(1));
    let next = keyed(&ada, "key", &other).await.expect(201).json();
    assert_ne!(next["session_id"], first["session_id"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn categories_are_restricted_only_if_configured() {
    let identity = format!("http://{}", Stub::default().start("127.0.0.1:0"));
    let settings = json!({"identity_url": identity, "categories": {"suggested": "deep work, rest", "strict": true}});
    let service = Service::with(settings, Broker::memory()).await;
    let ada = Person::outsider(&service, 7);
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

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_team_id_in_a_body_is_400_and_a_foreign_one_403() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::member(&service, 7);
    for odd in [
        json!(0),
        json!(-1),
        json!(1.0),
        json!("3"),
        json!("0042"),
        json!(9_223_372_036_854_775_808_u64),
        json!(true),
        json!([3]),
    ] {
        let body = json!({"team_id": odd, "name": "Beacon"});
        let refused = ada
            .post("/api/team-projects", body)
            .await
            .expect(400)
            .json();
        assert!(refused["error"].is_string(), "{odd}: {refused}");
    }
    let missing = ada
        .post("/api/team-projects", json!({"name": "Beacon"}))
        .await
        .expect(400);
    assert_eq!(missing.json(), json!({"error": "team_id is required"}));
    let foreign = ada
        .post(
            "/api/team-projects",
            json!({"team_id": 4, "name": "Beacon"}),
        )
        .await;
    let sentence = json!({"error": "Not authorized to change this team project"});
    assert_eq!(foreign.expect(403).json(), sentence);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_projects_are_listed_only_on_request() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::member(&service, 7);
    let made = ada
        .post("/api/projects", json!({"name": "Mine"}))
        .await
        .expect(201)
        .json();
    let mine = made["project"]["id"].clone();
    let team = ada
        .team_project()
        .await
        .trim_start_matches("team_")
        .to_owned();
    let lists = [
        ("/api/projects", "projects", 1),
        ("/api/team-projects", "team_projects", 1),
        ("/api/all-projects", "projects", 2),
    ];
    let shown = async |query: &str| {
        let mut counts = Vec::new();
        for (path, field, _) in lists {
            let answer = ada.get(&format!("{path}{query}")).await.expect(200).json();
            assert_eq!(answer["success"], true);
            counts.push(answer[field].as_array().unwrap().len());
        }
        counts
    };
    let all: Vec<_> = lists.map(|list| list.2).into();
    assert_eq!(shown("").await, all);
    for path in [
        format!("/api/projects/{mine}"),
        format!("/api/team-projects/{team}"),
    ] {
        service
            .api
            .delete(&path)
            .bearer(&ada.token)
            .send()
            .await
            .expect(204);
    }
    assert_eq!(shown("").await, [0, 0, 0]);
    assert_eq!(shown("?archived=false").await, [0, 0, 0]);
    assert_eq!(shown("?archived=true").await, all);
    for (id, sentence) in [
        (format!("personal_{mine}"), "Project is archived"),
        (format!("team_{team}"), "Project is archived"),
    ] {
        let body = json!({"category": "coding", "duration": 25, "project_id": id});
        let refused = ada.post("/api/session/start", body).await.expect(409);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn project_lists_are_limited_to_2000() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::member(&service, 7);
    let numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)";
    let at = "'2026-01-01 09:00:00', '2026-01-01 09:00:00'";
    execute(
        &service,
        &format!(
            "INSERT INTO projects (user_id, name, description, created_at, updated_at, seq) \
              {numbers} SELECT 7, 'one of many', '', {at}, 0 FROM n; \
             INSERT INTO team_projects (team_id, team_name, name, description, chat_channel, is_public, \
              created_at, updated_at) \
              {numbers} SELECT 3, 'Engines', 'one of many', '', '', false, {at} FROM n"
        ),
    );
    for (path, list, body) in [
        ("/api/projects", "projects", json!({"name": "Mine"})),
        (
            "/api/team-projects",
            "team_projects",
            json!({"team_id": 3, "name": "Ours"}),
        ),
    ] {
        ada.post(path, body.clone()).await.expect(201);
        let refused = ada.post(path, body).await.expect(409).json();
        assert_eq!(
            refused,
            json!({"error": "There are too many projects already"})
        );
        let all = ada
            .get(&format!("{path}?archived=true"))
            .await
            .expect(200)
            .json();
        assert_eq!(all[list].as_array().unwrap().len(), 2_000);
    }
    // Other users can still create projects.
    let bob = Person::outsider(&service, 8);
    bob.post("/api/projects", json!({"name": "Mine"}))
        .await
        .expect(201);
    service.stop().await;
}
