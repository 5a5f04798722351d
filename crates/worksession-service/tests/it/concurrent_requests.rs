//! Concurrent requests of a user: none is credited twice, only one timer runs, and none gets a 500.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::TimeDelta;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::caller::{Caller, changed, honest, session_events, statuses};
use crate::service_fixture::Service;

const AT_ONCE: usize = 32;

#[tokio::test(flavor = "multi_thread")]
async fn of_32_equal_submits_one_is_credited_and_all_get_its_response() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    for named in [true, false] {
        let started = ada.start_coding().await;
        service.clock.advance(TimeDelta::minutes(25));
        let mut body = honest(&started, &service);
        if !named {
            body = changed(body, &json!({"session_id": null}));
        }
        let replies = join_all((0..AT_ONCE).map(|_| ada.submit(body.clone()))).await;
        let answers: HashSet<_> = replies
            .into_iter()
            .map(|reply| reply.expect(200).text())
            .collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(
            session_events(&service, "session.submitted.v1", &started["session_id"]).len(),
            1
        );
    }
    let data = ada.data().await;
    assert_eq!(data["session_stats"]["total_sessions"], 2);
    assert_eq!(data["session_stats"]["total_minutes"], 50);
    assert_eq!(data["points"]["total"], 5.1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_different_submits_one_is_credited_and_the_others_get_409() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let body = honest(&started, &service);
    let submits = (0..AT_ONCE)
        .map(|number| ada.submit(changed(body.clone(), &json!({"note": number.to_string()}))));
    let mut codes: Vec<_> = join_all(submits)
        .await
        .iter()
        .map(|reply| reply.status)
        .collect();
    codes.sort_unstable();
    assert_eq!(codes[0], 200);
    assert!(codes[1..].iter().all(|status| *status == 409), "{codes:?}");
    assert_eq!(ada.data().await["session_stats"]["total_minutes"], 25);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_different_starts_one_runs_and_the_others_await_their_submit() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let starts = (0..AT_ONCE).map(|number| {
        ada.post(
            "/api/session/start",
            json!({"category": "coding", "duration": 25, "note": number.to_string()}),
        )
    });
    let replies = join_all(starts).await;
    let ids: HashSet<_> = replies
        .into_iter()
        .map(|reply| reply.expect(201).json()["session_id"].to_string())
        .collect();
    assert_eq!(ids.len(), AT_ONCE);
    let statuses = statuses(&service, 7);
    assert_eq!(statuses.len(), AT_ONCE);
    assert_eq!(
        statuses
            .iter()
            .filter(|status| *status == "running")
            .count(),
        1,
        "{statuses:?}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_equal_starts_one_creates_a_session_and_all_return_it() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let body = json!({"category": "coding", "duration": 25});
    let replies =
        join_all((0..AT_ONCE).map(|_| ada.post("/api/session/start", body.clone()))).await;
    let created = replies.iter().filter(|reply| reply.status == 201).count();
    let answers: HashSet<_> = replies.iter().map(test_kit::ApiResponse::text).collect();
    assert_eq!((created, answers.len()), (1, 1), "{answers:?}");
    let started: Value = replies[0].json();
    assert_eq!(
        session_events(&service, "session.started.v1", &started["session_id"]).len(),
        1
    );
    assert_eq!(statuses(&service, 7), ["running"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_submits_of_many_sessions_lose_no_minute() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let mut bodies = Vec::new();
    for number in 0..16 {
        let body = json!({"category": format!("c{number}"), "duration": 15});
        let started = ada.start(body).await;
        service.clock.advance(TimeDelta::minutes(15));
        bodies.push(honest(&started, &service));
    }
    let replies = join_all(bodies.into_iter().map(|body| ada.submit(body))).await;
    let mut points: i64 = 0;
    for reply in replies {
        let answer = reply.expect(200).json();
        assert_eq!(answer["credited_minutes"], 15);
        points += (answer["points_awarded"].as_f64().unwrap() * 100.0).round() as i64;
    }
    let data = ada.data().await;
    assert_eq!(data["session_stats"]["total_sessions"], 16);
    assert_eq!(data["session_stats"]["total_minutes"], 240);
    assert_eq!(
        (data["points"]["total"].as_f64().unwrap() * 100.0).round() as i64,
        points
    );
    assert_eq!(data["badges"], json!(["first_session"]));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_starts_and_submits_of_one_user_keep_the_rules() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let service = Arc::new(service);
    let ada = Caller::outsider(&service, 7);
    let mut started = ada.start_coding().await;
    for round in 0..8 {
        service.clock.advance(TimeDelta::minutes(25));
        let submit = ada.submit(honest(&started, &service));
        let next = ada.post(
            "/api/session/start",
            json!({"category": "coding", "duration": 25, "note": format!("{round}")}),
        );
        let (submitted, next) = futures_util::future::join(submit, next).await;
        assert_eq!(submitted.expect(200).json()["credited_minutes"], 25);
        started = next.expect(201).json();
    }
    assert_eq!(ada.data().await["session_stats"]["total_minutes"], 200);
    let statuses = statuses(&service, 7);
    assert_eq!(
        statuses
            .iter()
            .filter(|status| *status == "running")
            .count(),
        1,
        "{statuses:?}"
    );
}
