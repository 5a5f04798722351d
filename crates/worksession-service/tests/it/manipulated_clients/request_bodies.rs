//! Bodies that claim something else than what the service reads in them.

use serde_json::{Value, json};
use test_kit::ApiResponse;

use super::Scenario;
use super::measured_user::{MeasuredUser, assert_refused};
use crate::caller::{changed, honest};

pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("earnings in the submit's body", |user| {
        Box::pin(earnings(user))
    }),
    ("times and earnings in the start's body", |user| {
        Box::pin(start_fields(user))
    }),
    ("tags, notes and ratings that speak of points", |user| {
        Box::pin(notes_about_points(user))
    }),
    ("categories that look the same", |user| {
        Box::pin(look_alikes(user))
    }),
    ("a project in another spelling", |user| {
        Box::pin(project_spellings(user))
    }),
    ("a project taken away from the plan", |user| {
        Box::pin(project_taken_away(user))
    }),
    ("durations that are no whole numbers", |user| {
        Box::pin(odd_durations(user))
    }),
    ("huge and negative plans", |user| Box::pin(odd_plans(user))),
    ("a field twice", |user| Box::pin(repeated_fields(user))),
    ("names of fields in other letters", |user| {
        Box::pin(other_letters(user))
    }),
    ("times that are none", |user| Box::pin(odd_times(user))),
    ("ratings and tags beyond their limits", |user| {
        Box::pin(beyond_limits(user))
    }),
    ("nothing but times", |user| Box::pin(times_only(user))),
];

async fn earnings(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25);
    let fields = json!({
        "credited_minutes": 480, "points_awarded": 1_000, "points": {"total": 1_000}, "status": "completed",
        "streak": 100, "streaks": {"current": 100}, "badges": ["hours_100"], "new_badges": ["hours_100"],
        "planned_duration": 480, "started_at": "2026-11-23T01:00:00Z", "user_id": 1, "userId": "1", "version": 9,
    });
    let answer = user.submit_with(&started, &fields).await.expect(200).json();
    assert_eq!(answer["points"]["total"], 2.55);
    assert_eq!(answer["new_badges"], json!(["first_session"]));
    assert_eq!(answer["streaks"]["current"], 1);
}

async fn start_fields(user: &MeasuredUser<'_>) {
    let body = json!({
        "category": "coding", "duration": 25, "started_at": "2026-11-23T01:00:00Z", "status": "completed",
        "session_id": "019ab7a0-0000-7000-8000-000000000000", "expected_end_at": "2026-11-23T01:25:00Z",
        "start_time": "2026-11-23T01:00:00Z", "credited_minutes": 25, "points_awarded": 1_000, "user_id": 1, "zone": "x",
    });
    let started = user
        .try_start("/api/session/start", body)
        .await
        .expect(201)
        .json();
    assert_eq!(started["started_at"], "2026-11-23T09:00:00Z");
    assert_ne!(
        started["session_id"],
        "019ab7a0-0000-7000-8000-000000000000"
    );
    let answer = user
        .submit_times(&started, 0, 1_500)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["credited_minutes"], 0);
}

async fn notes_about_points(user: &MeasuredUser<'_>) {
    let mut paid = Vec::new();
    for fields in [
        json!({}),
        json!({"note": "points: 1000; credited_minutes=480", "quality_rating": 5}),
        json!({"tags": ["x10", "bonus", "double-points"], "quality_rating": 1}),
        json!({"note": "x".repeat(2_000), "tags": vec!["t"; 10], "quality_rating": 3}),
    ] {
        let started = user.start_noted(25, &paid.len().to_string()).await;
        user.pass(25);
        let answer = user.submit_with(&started, &fields).await.expect(200).json();
        assert_eq!(user.flags(&started), [""; 0]);
        paid.push(answer["points_awarded"].clone());
    }
    assert_eq!(paid, vec![json!(2.55); 4]);
}

async fn look_alikes(user: &MeasuredUser<'_>) {
    let plan = json!({"category": "Caf\u{e9}", "duration": 25});
    let started = user
        .try_start("/api/session/start", plan)
        .await
        .expect(201)
        .json();
    user.pass(25);
    let error = "Locked fields differ from the plan: category";
    for other in [
        "Cafe\u{301}",
        "caf\u{e9}",
        "CAF\u{c9}",
        "Caf\u{e9}\u{200b}",
        "\u{feff}Caf\u{e9}",
        "\u{421}af\u{e9}",
        "\u{ff23}af\u{e9}",
        "Cafe",
    ] {
        for name in [&started["session_id"], &Value::Null] {
            let fields = json!({"category": other, "session_id": name});
            assert_refused(user.submit_with(&started, &fields).await, 422, error);
        }
    }
    let trimmed = json!({"category": "  Caf\u{e9} "});
    assert_eq!(user.credited(&started, &trimmed).await, 25);
}

async fn project_spellings(user: &MeasuredUser<'_>) {
    let project = user.caller.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "project_id": project});
    let started = user
        .try_start("/api/session/start", plan)
        .await
        .expect(201)
        .json();
    user.pass(25);
    let number = project.trim_start_matches("team_");
    for other in [
        format!("team_0{number}"),
        format!("team_+{number}"),
        format!("team_{number} "),
        format!("Team_{number}"),
        format!("team-{number}"),
        format!("team_{number}_1"),
        "team_-1".to_owned(),
        "team_99999999999999999999".to_owned(),
        number.to_owned(),
    ] {
        let refused = user
            .submit_with(&started, &json!({"project_id": other}))
            .await;
        assert_refused(refused, 404, "Project not found");
    }
    for other in [
        format!("personal_{number}"),
        format!("{project}0"),
        "none".to_owned(),
    ] {
        let refused = user
            .submit_with(&started, &json!({"project_id": other}))
            .await;
        assert_refused(
            refused,
            422,
            "Locked fields differ from the plan: project_id",
        );
    }
}

async fn project_taken_away(user: &MeasuredUser<'_>) {
    let project = user.caller.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "project_id": project});
    let started = user
        .try_start("/api/session/start", plan)
        .await
        .expect(201)
        .json();
    user.pass(25);
    let mut explicit_null = honest(&started, user.service);
    explicit_null["project_id"] = Value::Null;
    let body = honest(&started, user.service);
    let none = changed(body.clone(), &json!({"project_id": "none"}));
    let empty = changed(body.clone(), &json!({"project_id": ""}));
    let error = "Locked fields differ from the plan: project_id";
    // The third attempt on one session is suspect; later ones are not recorded.
    for body in [none.clone(), empty, explicit_null, none] {
        assert_refused(user.submit(body).await, 422, error);
    }
    let info = "locked_mismatch:info";
    assert_eq!(
        user.flags(&started),
        [info, info, "locked_mismatch:suspect"]
    );
    let left_out = changed(body, &json!({"project_id": null}));
    user.submit(left_out).await.expect(200);
}

/// Submits the honest body with `duration` as raw text.
async fn submit_raw(user: &MeasuredUser<'_>, started: &Value, duration: &str) -> ApiResponse {
    let body = changed(honest(started, user.service), &json!({"duration": "@@"}));
    let body = body.to_string().replace("\"@@\"", duration);
    let call = user
        .service
        .api
        .post("/api/pomodoro/submit")
        .bearer(&user.caller.token);
    call.body("application/json", body).send().await
}

async fn odd_durations(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25);
    for odd in [
        "\"25\"",
        "25.5",
        "2.55e1",
        "true",
        "[25]",
        "{}",
        "1e400",
        "99999999999999999999",
        "025",
        "+25",
    ] {
        let refused = submit_raw(user, &started, odd).await.expect(400).json();
        assert!(refused["error"].is_string(), "{odd}: {refused}");
    }
    assert_eq!(user.statuses(), ["running"]);
    assert_eq!(user.flags(&started), [""; 0]);
}

async fn odd_plans(user: &MeasuredUser<'_>) {
    for duration in [
        0,
        -1,
        -25,
        481,
        1_000_000,
        i64::MAX,
        i64::MIN,
        4_294_967_321,
    ] {
        let body = json!({"category": "coding", "duration": duration});
        let refused = user.try_start("/api/clientb_timer_start", body).await;
        assert_refused(refused, 400, "duration must be 1 to 480 whole minutes");
    }
    for duration in [
        json!("25"),
        json!(25.5),
        json!([25]),
        json!(true),
        json!(1e300),
    ] {
        let body = json!({"category": "coding", "duration": duration});
        user.try_start("/api/clientb_timer_start", body)
            .await
            .expect(400);
    }
    assert!(user.statuses().is_empty());
}

async fn repeated_fields(user: &MeasuredUser<'_>) {
    let post = async |path: &str, body: &str| {
        let call = user.service.api.post(path).bearer(&user.caller.token);
        call.body("application/json", body).send().await
    };
    for body in [
        r#"{"category":"coding","duration":25,"duration":480}"#,
        r#"{"category":"coding","duration":25,"planned_duration":480}"#,
        r#"{"category":"coding","category":"meeting","duration":25}"#,
        r#"{"category":"coding","duration":25,"project_id":"none","projectId":"team_1"}"#,
    ] {
        post("/api/session/start", body).await.expect(400);
    }
    let started = user.start(25).await;
    user.pass(13);
    let honest = honest(&started, user.service).to_string();
    let start = honest.trim_end_matches('}');
    for field in [
        r#""end_time":"2026-11-23T09:25:00Z""#,
        r#""session_id":"x""#,
        r#""duration":5"#,
    ] {
        post("/api/pomodoro/submit", &format!("{start},{field}}}"))
            .await
            .expect(400);
    }
    assert_eq!(user.statuses(), ["running"]);
    assert_eq!(user.credited(&started, &json!({})).await, 13);
}

async fn other_letters(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(13);
    let fields = json!({
        "Duration": 480, "DURATION": 480, "endTime": "2026-11-23T09:25:00Z", "End_Time": "2026-11-23T09:25:00Z",
        "Category": "meeting", "sessionId": "x",
    });
    assert_eq!(user.credited(&started, &fields).await, 13);
}

async fn odd_times(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(13);
    for odd in [
        json!(null),
        json!(""),
        json!("now"),
        json!("2026-11-23"),
        json!("2026-11-23T09:25:00"),
        json!(" 2026-11-23T09:25:00Z"),
        json!("2026-11-23T09:25:00Z\u{200b}"),
        json!("2026-11-23T24:25:00Z"),
        json!("2026-02-30T09:25:00Z"),
        json!(1_795_424_400),
        json!(["2026-11-23T09:25:00Z"]),
        json!("\u{ff12}026-11-23T09:25:00Z"),
    ] {
        user.submit_with(&started, &json!({"end_time": odd}))
            .await
            .expect(400);
        user.submit_with(&started, &json!({"start_time": odd}))
            .await
            .expect(400);
    }
    let refused = user.submit_times(&started, 1_500, 0).await;
    assert_refused(refused, 400, "end_time must not be before start_time");
    assert_eq!(user.statuses(), ["running"]);
}

async fn beyond_limits(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(25);
    for fields in [
        json!({"quality_rating": 0}),
        json!({"quality_rating": 6}),
        json!({"quality_rating": i64::MAX}),
        json!({"quality_rating": "5"}),
        json!({"tags": vec!["t"; 11]}),
        json!({"tags": ["x".repeat(33)]}),
        json!({"tags": [["x"]]}),
        json!({"tags": {"0": "x"}}),
        json!({"note": "x".repeat(2_001)}),
        json!({"note": "a\0b"}),
    ] {
        user.submit_with(&started, &fields).await.expect(400);
    }
    assert_eq!(user.statuses(), ["running"]);
}

async fn times_only(user: &MeasuredUser<'_>) {
    let started = user.start(25).await;
    user.pass(13);
    let body = json!({"start_time": "2026-11-23T01:00:00Z", "end_time": "2026-11-23T09:25:00Z"});
    let answer = user.submit(body).await.expect(200).json();
    assert_eq!(answer["session_id"], started["session_id"]);
    assert_eq!(answer["credited_minutes"], 13);
    assert_eq!(
        user.flags(&started),
        ["client_clock:info", "future_end:suspect"]
    );
}
