//! Several timers, several devices, several users.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::Scenario;
use super::measured_user::{MeasuredUser, assert_refused};
use crate::caller::{Caller, changed, honest};

pub const SCENARIOS: &[(&str, Scenario)] = &[
    (
        "ten timers, each submitted as if it had run to its end",
        |user| Box::pin(many_timers(user)),
    ),
    ("ten timers, submitted forwards", |user| {
        Box::pin(many_timers_forwards(user))
    }),
    ("a second timer on another device", |user| {
        Box::pin(second_device(user))
    }),
    ("two devices that take turns every minute", |user| {
        Box::pin(taking_turns(user))
    }),
    ("ten clients that start at once", |user| {
        Box::pin(clients_at_once(user))
    }),
    (
        "ten clients that submit at once, each with its own times",
        |user| Box::pin(submits_at_once(user)),
    ),
    ("named and unnamed at once", |user| {
        Box::pin(named_and_unnamed(user))
    }),
    ("a start and the submit of what it ends, at once", |user| {
        Box::pin(start_and_submit(user))
    }),
    ("a new timer just before the old one's submit", |user| {
        Box::pin(start_before_submit(user))
    }),
    ("somebody else's session", |user| {
        Box::pin(somebody_elses(user))
    }),
    ("somebody else's key", |user| {
        Box::pin(somebody_elses_key(user))
    }),
    ("somebody else's project", |user| {
        Box::pin(somebody_elses_project(user))
    }),
    ("the same start twice within ten seconds", |user| {
        Box::pin(start_twice(user))
    }),
    ("one plan through three paths", |user| {
        Box::pin(three_paths(user))
    }),
    ("a hundred and twenty timers and one more", |user| {
        Box::pin(too_many(user))
    }),
];

async fn start_ten(user: &MeasuredUser<'_>) -> Vec<Value> {
    let mut started = Vec::new();
    for number in 0..10 {
        started.push(user.start_noted(25, &number.to_string()).await);
        user.pass(5);
    }
    started
}

async fn many_timers(user: &MeasuredUser<'_>) {
    let started = start_ten(user).await;
    for started in started.iter().rev() {
        let answer = user
            .submit_times(started, 0, 1_500)
            .await
            .expect(200)
            .json();
        assert_eq!(answer["credited_minutes"], 5);
    }
    assert_eq!(user.total().await, 50);
}

async fn many_timers_forwards(user: &MeasuredUser<'_>) {
    let started = start_ten(user).await;
    user.pass(60);
    for (number, started) in started.iter().enumerate() {
        let answer = user
            .submit_times(started, -600, 3_000)
            .await
            .expect(200)
            .json();
        assert_eq!(answer["credited_minutes"], if number == 9 { 25 } else { 5 });
        assert_eq!(user.flags(started), ["client_clock:info"]);
    }
}

async fn second_device(user: &MeasuredUser<'_>) {
    let first = user.start(25).await;
    user.pass(24);
    let plan = json!({"category": "writing", "duration": 10});
    let second = user.try_start("/api/clientb_timer_start", plan).await;
    let second = second.expect(201).json();
    user.pass(10);
    // The first session keeps its 24 minutes, and does not gain a 25th.
    assert_eq!(user.credited(&second, &json!({})).await, 10);
    assert_eq!(user.credited(&first, &json!({})).await, 24);
    assert_eq!(user.total().await, 34);
}

async fn taking_turns(user: &MeasuredUser<'_>) {
    let mut started = Vec::new();
    for number in 0..20 {
        started.push(user.start_noted(20, &number.to_string()).await);
        user.pass(1);
    }
    for started in &started {
        assert_eq!(user.credited(started, &json!({})).await, 1);
    }
    assert_eq!(user.total().await, 20);
    assert_eq!(user.caller.data().await["points"]["total"], 0.0);
}

async fn clients_at_once(user: &MeasuredUser<'_>) {
    let starts = join_all((0..10).map(|number| {
        let body = json!({"category": "coding", "duration": 25, "note": number.to_string()});
        user.try_start("/api/session/start", body)
    }));
    let started: Vec<Value> = starts
        .await
        .into_iter()
        .map(|reply| reply.expect(201).json())
        .collect();
    user.pass(25);
    let as_it_is = json!({});
    let submits = started
        .iter()
        .map(|started| user.submit_with(started, &as_it_is));
    for reply in join_all(submits).await {
        reply.expect(200);
    }
    assert_eq!(user.total().await, 25, "one of them ran");
}

async fn submits_at_once(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(20);
    let replies =
        join_all((0..10).map(|number| user.submit_times(&started, -number, 1_500 + number)));
    let mut codes: Vec<u16> = replies.await.iter().map(|reply| reply.status).collect();
    codes.sort_unstable();
    assert_eq!(codes, [200, 409, 409, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(user.total().await, 20);
}

async fn named_and_unnamed(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25);
    let unnamed = json!({"session_id": null});
    let none = json!({});
    let replies = join_all(
        [&unnamed, &none, &unnamed, &none].map(|fields| user.submit_with(&started, fields)),
    );
    for reply in replies.await {
        assert_eq!(
            reply.expect(200).json()["session_id"],
            started["session_id"]
        );
    }
    assert_eq!(user.total().await, 25);
}

async fn start_and_submit(user: &MeasuredUser<'_>) {
    let first = user.start(60).await;
    user.pass(30);
    let next = user.start_noted(60, "next");
    let submitted = user.submit_times(&first, 0, 3_600);
    let (next, submitted) = futures_util::future::join(next, submitted).await;
    assert_eq!(submitted.expect(200).json()["credited_minutes"], 30);
    user.pass(30);
    assert_eq!(user.credited(&next, &json!({})).await, 30);
}

async fn start_before_submit(user: &MeasuredUser<'_>) {
    let first = user.start(480).await;
    user.pass(10);
    let second = user.start_noted(480, "again").await;
    user.pass(470);
    // Eight hours after the start; but the session ended after ten minutes.
    let answer = user
        .submit_times(&first, 0, 28_800)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["credited_minutes"], 10);
    assert_eq!(user.credited(&second, &json!({})).await, 470);
}

async fn somebody_elses(user: &MeasuredUser<'_>) {
    let other = Caller::outsider(user.service, user.id + 100_000);
    let theirs = other.start_coding().await;
    user.pass(25);
    let body = honest(&theirs, user.service);
    let id = theirs["session_id"].as_str().unwrap().to_owned();
    for id in [id.clone(), id.to_uppercase()] {
        let body = changed(body.clone(), &json!({"session_id": id}));
        assert_refused(user.submit(body).await, 404, "Session not found");
    }
    let unnamed = changed(body.clone(), &json!({"session_id": null}));
    assert_refused(user.submit(unnamed).await, 409, "No open session matches");
    assert_eq!(
        other.submit(body).await.expect(200).json()["credited_minutes"],
        25
    );
}

async fn start_keyed(
    user: &MeasuredUser<'_>,
    caller: &Caller<'_>,
    key: &str,
    body: Value,
) -> test_kit::ApiResponse {
    let call = user
        .service
        .api
        .post("/api/session/start")
        .bearer(&caller.token);
    call.header("idempotency-key", key).json(body).send().await
}

async fn somebody_elses_key(user: &MeasuredUser<'_>) {
    let other = Caller::outsider(user.service, user.id + 100_000);
    let body = json!({"category": "coding", "duration": 25});
    let key = format!("shared-{}", user.id);
    let theirs = start_keyed(user, &other, &key, body.clone())
        .await
        .expect(201)
        .json();
    user.pass(25);
    let reply = start_keyed(user, &user.caller, &key, body).await;
    user.record_start(&reply);
    let own = reply.expect(201).json();
    assert_ne!(own["session_id"], theirs["session_id"]);
    assert_eq!(user.credited(&own, &json!({})).await, 0);
}

async fn somebody_elses_project(user: &MeasuredUser<'_>) {
    let project = user.caller.team_project().await;
    let other = Caller::outsider(user.service, user.id + 100_000);
    let plan = |id: &str| json!({"category": "coding", "duration": 25, "project_id": id});
    let refused = other.post("/api/session/start", plan(&project)).await;
    assert_refused(refused, 403, "Not authorized to access this team project");
    let made = other
        .post("/api/projects", json!({"name": "Theirs"}))
        .await
        .expect(201);
    let theirs = format!("personal_{}", made.json()["project"]["id"]);
    let refused = user.try_start("/api/session/start", plan(&theirs)).await;
    assert_refused(refused, 404, "Project not found");
    let started = user.start(25).await;
    user.pass(25);
    let error = "Locked fields differ from the plan: project_id";
    for id in [&theirs, &project] {
        let fields = json!({"project_id": id});
        assert_refused(user.submit_with(&started, &fields).await, 422, error);
    }
}

async fn start_twice(user: &MeasuredUser<'_>) {
    let body = json!({"category": "coding", "duration": 25});
    let first = user
        .try_start("/api/session/start", body.clone())
        .await
        .expect(201);
    for seconds in [0, 9] {
        user.pass_seconds(seconds);
        let again = user
            .try_start("/api/session/start", body.clone())
            .await
            .expect(200);
        assert_eq!(again.text(), first.text());
    }
    user.pass(25);
    assert_eq!(user.credited(&first.json(), &json!({})).await, 25);
    let next = user
        .try_start("/api/session/start", body)
        .await
        .expect(201)
        .json();
    assert_eq!(
        user.credited(&next, &json!({})).await,
        0,
        "nothing is left over"
    );
}

async fn three_paths(user: &MeasuredUser<'_>) {
    let body = json!({"category": "coding", "duration": 25, "note": "one"});
    let first = user
        .try_start("/api/clienta_timer_start", body.clone())
        .await
        .expect(201);
    for path in ["/api/clientb_timer_start", "/api/session/start"] {
        let again = user.try_start(path, body.clone()).await.expect(200);
        assert_eq!(again.text(), first.text());
    }
    assert_eq!(user.statuses(), ["running"]);
    user.pass(25);
    assert_eq!(user.credited(&first.json(), &json!({})).await, 25);
}

async fn too_many(user: &MeasuredUser<'_>) {
    for number in 0..120 {
        user.start_noted(1, &number.to_string()).await;
    }
    let body = json!({"category": "coding", "duration": 1});
    assert_refused(
        user.try_start("/api/session/start", body).await,
        429,
        "Too many requests",
    );
    assert_eq!(user.total().await, 0);
}
