//! The same request twice, too late, or under another name.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::Scenario;
use super::measured_user::{MeasuredUser, assert_refused};
use crate::caller::{changed, honest};

pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("a repeated submit with another note", |user| {
        Box::pin(another_note(user))
    }),
    ("a repeated submit with a longer time", |user| {
        Box::pin(longer(user))
    }),
    (
        "a repeated submit without the id while the next one runs",
        |user| Box::pin(while_the_next_runs(user)),
    ),
    ("a repeated submit a day later", |user| {
        Box::pin(a_day_later(user))
    }),
    ("a submit after the session was abandoned", |user| {
        Box::pin(after_abandonment(user))
    }),
    ("a submit at the last moment", |user| {
        Box::pin(last_moment(user))
    }),
    ("a submit hours after the next start", |user| {
        Box::pin(long_ended(user))
    }),
    ("an id in another spelling", |user| {
        Box::pin(spellings(user))
    }),
    ("a key with another body", |user| {
        Box::pin(key_of_another(user))
    }),
    ("a key of a session that is over", |user| {
        Box::pin(key_again(user))
    }),
    ("locked fields by an edit", |user| {
        Box::pin(locked_fields_by_edit(user))
    }),
    ("earnings by an edit", |user| {
        Box::pin(earnings_by_edit(user))
    }),
    ("a mismatch after the submit", |user| {
        Box::pin(mismatch_after(user))
    }),
];

const SUBMITTED: &str = "Session already submitted";

async fn submitted_session(user: &MeasuredUser<'_>) -> Value {
    let started = user.start(25).await;
    user.pass(20);
    assert_eq!(user.credited(&started, &json!({})).await, 20);
    started
}

async fn another_note(user: &MeasuredUser<'_>) {
    let started = submitted_session(user).await;
    let at = honest(&started, user.service)["end_time"].clone();
    for note in ["", "better", "done ", "DONE"] {
        let fields = json!({"note": note, "end_time": at});
        assert_refused(user.submit_with(&started, &fields).await, 409, SUBMITTED);
    }
    // An identical submit gets the same response again.
    let again = user.submit_with(&started, &json!({"end_time": at})).await;
    assert_eq!(again.expect(200).json()["credited_minutes"], 20);
    assert_eq!(user.total().await, 20);
}

async fn longer(user: &MeasuredUser<'_>) {
    let started = submitted_session(user).await;
    user.pass(5);
    for seconds in [1_201, 1_500, 86_400] {
        assert_refused(
            user.submit_times(&started, 0, seconds).await,
            409,
            SUBMITTED,
        );
    }
    assert_eq!(user.total().await, 20);
}

async fn while_the_next_runs(user: &MeasuredUser<'_>) {
    let first = user.start(25).await;
    user.pass(25);
    let body = changed(honest(&first, user.service), &json!({"session_id": null}));
    let answer = user.submit(body.clone()).await.expect(200).text();
    let second = user.start_noted(25, "next").await;
    user.pass(1);
    for _ in 0..3 {
        assert_eq!(user.submit(body.clone()).await.expect(200).text(), answer);
    }
    assert_eq!(user.statuses(), ["completed", "running"]);
    user.pass(24);
    assert_eq!(user.credited(&second, &json!({})).await, 25);
}

async fn a_day_later(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25);
    let body = honest(&started, user.service);
    let answer = user.submit(body.clone()).await.expect(200).text();
    for _ in 0..3 {
        user.service.clock.advance(TimeDelta::days(1));
        assert_eq!(user.submit(body.clone()).await.expect(200).text(), answer);
    }
    let data = user.caller.data().await;
    assert_eq!(data["points"]["today"], 0.0);
    assert_eq!(data["streaks"]["longest"], 1);
}

async fn after_abandonment(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25 + 12 * 60);
    let unnamed = json!({"session_id": null});
    let refused = user.submit_with(&started, &unnamed).await;
    assert_refused(refused, 409, "No open session matches");
    let answer = user
        .submit_times(&started, 0, 1_500)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["status"], "abandoned");
    assert_eq!(answer["points_awarded"], 0.0);
    assert_refused(user.submit_times(&started, 0, 1_499).await, 409, SUBMITTED);
    assert_eq!(user.total().await, 0);
}

async fn last_moment(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25 + 12 * 60);
    user.pass_seconds(-1);
    let answer = user
        .submit_times(&started, 0, 44_000)
        .await
        .expect(200)
        .json();
    // Twelve hours of overrun are worth nothing.
    assert_eq!(answer["credited_minutes"], 25);
}

async fn long_ended(user: &MeasuredUser<'_>) {
    let first = user.start(300).await;
    user.pass(10);
    let second = user.start_noted(5, "short").await;
    user.pass(600);
    assert_eq!(user.credited(&first, &json!({})).await, 10);
    assert_eq!(user.credited(&second, &json!({})).await, 5);
}

async fn spellings(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    let id = started["session_id"].as_str().unwrap().to_owned();
    user.pass(25);
    for other in [
        id.replace('-', ""),
        format!("{{{id}}}"),
        format!("urn:uuid:{id}"),
        format!(" {id}"),
        format!("{id}\u{200b}"),
        format!("{id}' OR '1'='1"),
        String::new(),
    ] {
        let refused = user
            .submit_with(&started, &json!({"session_id": other}))
            .await;
        assert_refused(refused, 404, "Session not found");
    }
    let upper = json!({"session_id": id.to_uppercase()});
    assert_eq!(user.credited(&started, &upper).await, 25);
    assert_eq!(
        user.credited(&started, &json!({})).await,
        25,
        "the same one"
    );
    let refused = user.submit_with(&started, &json!({"note": "other"})).await;
    assert_refused(refused, 409, SUBMITTED);
    assert_eq!(user.total().await, 25);
}

async fn start_keyed(user: &MeasuredUser<'_>, body: Value) -> test_kit::ApiResponse {
    let call = user
        .service
        .api
        .post("/api/session/start")
        .bearer(&user.caller.token);
    let reply = call
        .header("idempotency-key", "mine")
        .json(body)
        .send()
        .await;
    user.record_start(&reply);
    reply
}

async fn key_of_another(user: &MeasuredUser<'_>) {
    let body = json!({"category": "coding", "duration": 25});
    let started = start_keyed(user, body.clone()).await.expect(201).json();
    for fields in [
        json!({"duration": 480}),
        json!({"category": "meeting"}),
        json!({"note": "x"}),
        json!({"project_id": user.caller.team_project().await}),
    ] {
        let error = "Idempotency-Key was used with another request";
        let refused = start_keyed(user, changed(body.clone(), &fields)).await;
        assert_refused(refused, 422, error);
    }
    user.pass(25);
    assert_eq!(start_keyed(user, body).await.expect(200).json(), started);
    assert_eq!(user.credited(&started, &json!({})).await, 25);
}

async fn key_again(user: &MeasuredUser<'_>) {
    let body = json!({"category": "coding", "duration": 25});
    let first = start_keyed(user, body.clone()).await.expect(201).json();
    user.pass(25);
    assert_eq!(user.credited(&first, &json!({})).await, 25);
    let second = start_keyed(user, body).await.expect(201).json();
    assert_ne!(second["session_id"], first["session_id"]);
    let answer = user
        .submit_times(&second, 0, 1_500)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["credited_minutes"], 0, "the time has to pass again");
}

async fn patch(user: &MeasuredUser<'_>, started: &Value, body: Value) -> test_kit::ApiResponse {
    let path = format!("/api/sessions/{}", started["session_id"].as_str().unwrap());
    let call = user.service.api.call("PATCH".parse().unwrap(), &path);
    call.bearer(&user.caller.token).json(body).send().await
}

async fn locked_fields_by_edit(user: &MeasuredUser<'_>) {
    let started = submitted_session(user).await;
    for (name, value) in [
        ("category", json!("meeting")),
        ("duration", json!(480)),
        ("project_id", json!("team_1")),
    ] {
        let error = format!("Locked fields differ from the plan: {name}");
        assert_refused(
            patch(user, &started, json!({name: value})).await,
            422,
            &error,
        );
    }
    assert_eq!(user.total().await, 20);
}

async fn earnings_by_edit(user: &MeasuredUser<'_>) {
    let started = submitted_session(user).await;
    let before = user.caller.data().await;
    let body = json!({
        "credited_minutes": 480, "points_awarded": 999, "status": "completed", "started_at": "2026-01-01T00:00:00Z",
        "end_time": "2026-12-01T00:00:00Z", "note": "paid", "quality_rating": 5, "tags": ["paid"], "flags": [],
    });
    patch(user, &started, body).await.expect(200);
    assert_eq!(user.caller.data().await, before);
}

async fn mismatch_after(user: &MeasuredUser<'_>) {
    let started = submitted_session(user).await;
    let fields = json!({"duration": 480, "category": "meeting"});
    assert_refused(user.submit_with(&started, &fields).await, 409, SUBMITTED);
    assert!(user.flags(&started).is_empty(), "no flag after the submit");
}
