use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::wait_until;

use crate::caller::{Caller, changed, honest, parse_time, session_events, statuses};
use crate::service_fixture::Service;

const UNKNOWN_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[tokio::test(flavor = "multi_thread")]
async fn a_start_returns_the_locked_plan_and_publishes_an_event() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let project = ada.team_project().await;
    let slack = json!({"provider": "slack", "webhook_url": "https://hooks.example.com/T/B/x"});
    let path = format!(
        "/api/team-projects/{}/chat",
        project.trim_start_matches("team_")
    );
    service
        .api
        .put(&path)
        .bearer(&ada.token)
        .json(slack)
        .send()
        .await
        .expect(200);

    let body =
        json!({"category": " coding ", "duration": 25, "project_id": project, "note": "the plan"});
    let call = service
        .api
        .post("/api/clienta_timer_start")
        .bearer(&ada.token);
    let reply = call
        .header("x-request-id", "request-1")
        .json(body)
        .send()
        .await
        .expect(201);
    assert_eq!(reply.header("cache-control"), "no-store");
    let started = reply.json();
    let id = started["session_id"].clone();
    let presession = json!({
        "category": "coding",
        "planned_duration": 25,
        "planning_note": "the plan",
        "project": {"id": project, "name": "Engine", "type": "team"},
    });
    assert_eq!(
        started,
        json!({
            "success": true,
            "session_id": id,
            "presession": presession,
            "started_at": "2026-11-23T09:00:00Z",
            "expected_end_at": "2026-11-23T09:25:00Z",
        })
    );
    assert_eq!(
        uuid::Uuid::parse_str(id.as_str().unwrap())
            .unwrap()
            .get_version_num(),
        7
    );

    let events = session_events(&service, "session.started.v1", &id);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["requestid"], "request-1");
    assert_eq!(
        events[0]["data"],
        json!({
            "session_id": id,
            "user": {"id": 7, "username": "person7"},
            "project": {"id": project, "name": "Engine", "type": "team", "team_id": 3, "team_name": "Engines"},
            "category": "coding",
            "planned_duration": 25,
            "planning_note": "the plan",
            "started_at": "2026-11-23T09:00:00Z",
            "expected_end_at": "2026-11-23T09:25:00Z",
            "client": "client_a",
            "chat": {
                "provider": "slack", "channel": "#engine", "revision": 1, "announce": ["planned", "finished"]
            },
        })
    );

    let shown = ada
        .get(&format!("/api/get_presession/{}", id.as_str().unwrap()))
        .await
        .expect(200)
        .json();
    assert_eq!(
        shown,
        json!({
            "success": true,
            "presession": presession,
            "session_id": id,
            "status": "running",
            "started_at": "2026-11-23T09:00:00Z",
            "expected_end_at": "2026-11-23T09:25:00Z",
        })
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_start_path_accepts_the_field_names_of_its_client() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let bodies = [
        (
            "client_a",
            json!({"category": "study", "duration": 30, "note": "n", "project_id": null}),
        ),
        (
            "client_b",
            json!({"category": "study", "planned_duration": 30, "planning_note": "n", "project_id": ""}),
        ),
        (
            "session",
            json!({"category": "study", "plannedDuration": 30, "planningNote": "n", "projectId": "none"}),
        ),
        (
            "session",
            json!({"category": "study", "duration": 30.0, "note": "execution", "planning_note": "n"}),
        ),
    ];
    for (user, (client, body)) in (1..).zip(bodies) {
        let caller = Caller::outsider(&service, user);
        let path = match client {
            "client_a" => "/api/clienta_timer_start",
            "client_b" => "/api/clientb_timer_start",
            _ => "/api/session/start",
        };
        let started = caller.post(path, body.clone()).await.expect(201).json();
        assert_eq!(
            started["presession"],
            json!({
                "category": "study",
                "planned_duration": 30,
                "planning_note": "n",
                "project": {"id": "none", "name": "", "type": "none"},
            })
        );
        let events = session_events(&service, "session.started.v1", &started["session_id"]);
        assert_eq!(events[0]["data"]["client"], client);
        assert_eq!(events[0]["data"]["chat"], Value::Null);
        // All paths are one operation: the same plan through another path is the same start.
        let again = caller
            .post("/api/session/start", body)
            .await
            .expect(200)
            .json();
        assert_eq!(again, started);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_start_is_refused() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let project = ada.team_project().await;
    let good = json!({"category": "coding", "duration": 25});
    let table = [
        (json!({"category": null}), 400, "category is required"),
        (
            json!({"category": ""}),
            400,
            "category must have 1 to 64 characters",
        ),
        (
            json!({"category": "  "}),
            400,
            "category must have 1 to 64 characters",
        ),
        (
            json!({"category": "ü".repeat(65)}),
            400,
            "category must have 1 to 64 characters",
        ),
        (json!({"category": 7}), 400, ""),
        (json!({"category": "a\0b"}), 400, ""),
        (json!({"duration": null}), 400, "duration is required"),
        (
            json!({"duration": 0}),
            400,
            "duration must be 1 to 480 whole minutes",
        ),
        (
            json!({"duration": -25}),
            400,
            "duration must be 1 to 480 whole minutes",
        ),
        (
            json!({"duration": 481}),
            400,
            "duration must be 1 to 480 whole minutes",
        ),
        (
            json!({"duration": 4_294_967_321_i64}),
            400,
            "duration must be 1 to 480 whole minutes",
        ),
        (json!({"duration": 25.5}), 400, ""),
        (json!({"duration": "25"}), 400, ""),
        (
            json!({"note": "x".repeat(2_001)}),
            400,
            "note must have at most 2000 characters",
        ),
        (json!({"note": ["x"]}), 400, ""),
        (json!({"project_id": 1}), 400, ""),
        (json!({"project_id": "team_0"}), 404, "Project not found"),
        (json!({"project_id": "team_01"}), 404, "Project not found"),
        (json!({"project_id": "engine"}), 404, "Project not found"),
        (
            json!({"project_id": "team_999"}),
            404,
            "Team project not found",
        ),
        (
            json!({"project_id": "personal_999"}),
            404,
            "Project not found",
        ),
    ];
    for (fields, status, sentence) in table {
        let reply = ada
            .post("/api/clienta_timer_start", changed(good.clone(), &fields))
            .await
            .expect(status);
        let error = reply.json()["error"].as_str().unwrap().to_owned();
        assert!(
            error == sentence || (sentence.is_empty() && !error.is_empty()),
            "{fields}: {error}"
        );
    }
    let stranger = Caller::outsider(&service, 8);
    let refused = stranger.post(
        "/api/clienta_timer_start",
        changed(good, &json!({"project_id": project})),
    );
    let refused = refused.await.expect(403).json();
    assert_eq!(
        refused,
        json!({"error": "Not authorized to access this team project"})
    );
    assert!(statuses(&service, 7).is_empty() && statuses(&service, 8).is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_returns_the_first_one() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let body = json!({"category": "coding", "duration": 25, "note": "the plan"});
    let path = "/api/clienta_timer_start";

    let first = ada.start(body.clone()).await;
    service.clock.advance(TimeDelta::milliseconds(9_999));
    assert_eq!(ada.post(path, body.clone()).await.expect(200).json(), first);
    service.clock.advance(TimeDelta::milliseconds(1));
    let second = ada.start(body.clone()).await;
    assert_ne!(second["session_id"], first["session_id"]);
    // Another plan is another start, however soon.
    service.clock.advance(TimeDelta::milliseconds(1));
    let third = ada
        .start(changed(body.clone(), &json!({"note": "another"})))
        .await;
    assert_eq!(
        statuses(&service, 7),
        ["awaiting_submit", "awaiting_submit", "running"]
    );

    let keyed = |body: Value, key: &str| {
        let call = service
            .api
            .post(path)
            .bearer(&ada.token)
            .header("idempotency-key", key);
        call.json(body).send()
    };
    let fourth = keyed(body.clone(), "key-1").await.expect(201).json();
    assert_ne!(fourth["session_id"], third["session_id"]);
    service.clock.advance(TimeDelta::hours(1));
    assert_eq!(
        keyed(body.clone(), "key-1").await.expect(200).json(),
        fourth
    );
    // An open session is still the same start, even if it no longer runs.
    let fifth = keyed(body.clone(), "key-2").await.expect(201).json();
    assert_eq!(
        keyed(body.clone(), "key-1").await.expect(200).json(),
        fourth
    );
    let other = changed(body.clone(), &json!({"duration": 26}));
    let refused = keyed(other, "key-1").await.expect(422).json();
    assert_eq!(
        refused,
        json!({"error": "Idempotency-Key was used with another request"})
    );
    for bad in ["", &"k".repeat(256)] {
        keyed(body.clone(), bad).await.expect(400);
    }
    // Once the session is submitted, the key starts a new one.
    service.clock.advance(TimeDelta::seconds(10));
    ada.submit(honest(&fourth, &service)).await.expect(200);
    let sixth = keyed(body, "key-1").await.expect(201).json();
    assert_ne!(sixth["session_id"], fifth["session_id"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_ends_the_running_session_and_both_are_credited() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let first = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(24));
    let second = ada
        .start(json!({"category": "writing", "duration": 10}))
        .await;
    service.clock.advance(TimeDelta::minutes(10));

    let path = |started: &Value| {
        format!(
            "/api/get_presession/{}",
            started["session_id"].as_str().unwrap()
        )
    };
    let shown = ada.get(&path(&first)).await.expect(200).json();
    assert_eq!(shown["status"], "awaiting_submit");

    let late = ada
        .submit(honest(&second, &service))
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&late["status"], &late["credited_minutes"]),
        (&json!("completed"), &json!(10))
    );
    let early = ada
        .submit(honest(&first, &service))
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&early["status"], &early["credited_minutes"]),
        (&json!("partial"), &json!(24))
    );
    assert_eq!(ada.data().await["session_stats"]["total_minutes"], 34);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_returns_its_credit_and_a_repeated_submit_the_same_response() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(30));
    let body = changed(
        honest(&started, &service),
        &json!({"quality_rating": 4, "tags": ["deep", "quiet"]}),
    );
    let reply = ada.submit(body.clone()).await.expect(200);
    let id = &started["session_id"];
    assert_eq!(
        reply.json(),
        json!({
            "success": true,
            "session_id": id,
            "status": "completed",
            "credited_minutes": 25,
            "points_awarded": 2.55,
            "points": {"total": 2.55, "today": 2.55, "this_week": 2.55, "this_month": 2.55},
            "streaks": {"current": 1, "longest": 1, "days_active_this_week": 1, "days_active_this_month": 1},
            "new_badges": ["first_session"],
        })
    );
    let events = session_events(&service, "session.submitted.v1", id);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["data"]["points_awarded"], 2.55);
    assert_eq!(events[0]["data"]["streak"], 1);
    assert_eq!(events[0]["data"]["status"], "completed");
    assert!(events[0]["data"].get("planning_note").is_none());

    service.clock.advance(TimeDelta::days(2));
    // The same values in another notation.
    let zone = chrono::FixedOffset::east_opt(7200).unwrap();
    let local = parse_time(&body["start_time"]).with_timezone(&zone);
    let rewritten = changed(
        body.clone(),
        &json!({"start_time": local.to_rfc3339(), "category": null, "duration": null}),
    );
    let unnamed = changed(body.clone(), &json!({"session_id": null}));
    for again in [body.clone(), rewritten, unnamed] {
        assert_eq!(ada.submit(again).await.expect(200).text(), reply.text());
    }
    let end = json!("2026-11-23T09:29:59Z");
    for fields in [
        json!({"note": "better"}),
        json!({"note": null}),
        json!({"end_time": end}),
        json!({"quality_rating": 5}),
        json!({"tags": ["quiet", "deep"]}),
        json!({"duration": 30}),
    ] {
        let refused = ada
            .submit(changed(body.clone(), &fields))
            .await
            .expect(409)
            .json();
        assert_eq!(
            refused,
            json!({"error": "Session already submitted"}),
            "{fields}"
        );
    }
    assert_eq!(ada.data().await["session_stats"]["total_sessions"], 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_without_an_id_finds_the_matching_open_session() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let none_open = json!({"error": "No open session matches"});
    let nothing = json!({"start_time": "2026-11-23T09:00:00Z", "end_time": "2026-11-23T09:10:00Z"});
    assert_eq!(ada.submit(nothing).await.expect(409).json(), none_open);

    let first = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let second = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let writing = ada
        .start(json!({"category": "writing", "duration": 25}))
        .await;
    service.clock.advance(TimeDelta::minutes(25));
    for started in [&second, &writing, &first] {
        let body = changed(honest(started, &service), &json!({"session_id": null}));
        let answer = ada.submit(body).await.expect(200).json();
        assert_eq!(answer["session_id"], started["session_id"]);
        assert_eq!(answer["credited_minutes"], 25);
    }
    let body = changed(
        honest(&first, &service),
        &json!({"session_id": null, "note": "again"}),
    );
    assert_eq!(ada.submit(body).await.expect(409).json(), none_open);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_submit_is_refused_and_changes_nothing() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let good = honest(&started, &service);
    let table = [
        (json!({"start_time": null}), 400),
        (json!({"end_time": null}), 400),
        (json!({"start_time": "2026-11-23T09:00:00"}), 400),
        (json!({"end_time": "yesterday"}), 400),
        (json!({"end_time": 1_795_424_400}), 400),
        (json!({"end_time": "2026-11-23T08:59:59Z"}), 400),
        (json!({"note": "x".repeat(2_001)}), 400),
        (json!({"note": 7}), 400),
        (json!({"quality_rating": 0}), 400),
        (json!({"quality_rating": 6}), 400),
        (json!({"quality_rating": 4.5}), 400),
        (json!({"tags": "deep"}), 400),
        (json!({"tags": vec!["t"; 11]}), 400),
        (json!({"tags": ["x".repeat(33)]}), 400),
        (json!({"tags": [""]}), 400),
        (json!({"duration": "25"}), 400),
        (json!({"category": ["coding"]}), 400),
        (json!({"session_id": 7}), 400),
        (json!({"project_id": "team_x"}), 404),
        (json!({"session_id": "7"}), 404),
        (json!({"session_id": ""}), 404),
        (json!({"session_id": UNKNOWN_ID}), 404),
    ];
    for (fields, status) in table {
        let reply = ada
            .submit(changed(good.clone(), &fields))
            .await
            .expect(status);
        assert!(reply.json()["error"].is_string(), "{fields}");
    }
    assert_eq!(statuses(&service, 7), ["running"]);
    ada.submit(good).await.expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_shown_to_its_user_only() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, bob) = (Caller::outsider(&service, 7), Caller::outsider(&service, 8));
    let started = ada.start_coding().await;
    let id = started["session_id"].as_str().unwrap();
    for path in [
        UNKNOWN_ID,
        "7",
        "x",
        &id.replace('-', ""),
        &format!("{{{id}}}"),
        &format!("{id}0"),
    ] {
        let missing = ada
            .get(&format!("/api/get_presession/{path}"))
            .await
            .expect(404)
            .json();
        assert_eq!(missing, json!({"error": "Session not found"}), "{path}");
    }
    let foreign = bob
        .get(&format!("/api/get_presession/{id}"))
        .await
        .expect(404)
        .json();
    assert_eq!(foreign, json!({"error": "Session not found"}));
    ada.get(&format!("/api/get_presession/{}", id.to_uppercase()))
        .await
        .expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsubmitted_session_is_abandoned_and_its_late_submit_earns_nothing() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let swept = ada.start_coding().await;
    service
        .clock
        .advance(TimeDelta::minutes(25) + TimeDelta::hours(12) - TimeDelta::seconds(1));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(statuses(&service, 7), ["running"]);
    service.clock.advance(TimeDelta::seconds(1));
    wait_until("the sweeper", Duration::from_secs(10), async || {
        (statuses(&service, 7) == ["abandoned"]).then_some(())
    })
    .await;
    let events = session_events(&service, "session.abandoned.v1", &swept["session_id"]);
    assert_eq!(events[0]["data"]["reason"], "not_submitted");

    let unnamed = changed(honest(&swept, &service), &json!({"session_id": null}));
    ada.submit(unnamed).await.expect(409);
    let body = honest(&swept, &service);
    let answer = ada.submit(body.clone()).await.expect(200);
    let late = answer.json();
    assert_eq!(
        (&late["status"], &late["credited_minutes"]),
        (&json!("abandoned"), &json!(0))
    );
    assert_eq!(
        (&late["points_awarded"], &late["new_badges"]),
        (&json!(0.0), &json!([]))
    );
    assert_eq!(
        ada.submit(body.clone()).await.expect(200).text(),
        answer.text()
    );
    ada.submit(changed(body, &json!({"note": "other"})))
        .await
        .expect(409);
    assert_eq!(ada.data().await["session_stats"]["total_sessions"], 0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_are_limited_to_120_an_hour() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    for number in 0..120 {
        ada.start(json!({"category": "coding", "duration": 25, "note": number.to_string()}))
            .await;
    }
    let refused = ada
        .post(
            "/api/session/start",
            json!({"category": "coding", "duration": 25}),
        )
        .await
        .expect(429);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    assert_eq!(refused.json(), json!({"error": "Too many requests"}));
    Caller::outsider(&service, 8).start_coding().await;
    service.stop().await;
}
