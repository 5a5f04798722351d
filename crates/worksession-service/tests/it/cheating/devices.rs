//! Several timers, several devices, several users.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::Play;
use super::game::Game;
use crate::person::{Person, changed, honest};

pub const PLAYS: &[(&str, Play)] = &[
    (
        "ten timers, each submitted as if it had run to its end",
        |game| Box::pin(many_timers(game)),
    ),
    ("ten timers, submitted forwards", |game| {
        Box::pin(many_timers_forwards(game))
    }),
    ("a second timer on another device", |game| {
        Box::pin(second_device(game))
    }),
    ("two devices that take turns every minute", |game| {
        Box::pin(taking_turns(game))
    }),
    ("ten clients that start at once", |game| {
        Box::pin(clients_at_once(game))
    }),
    (
        "ten clients that submit at once, each with its own times",
        |game| Box::pin(submits_at_once(game)),
    ),
    ("named and unnamed at once", |game| {
        Box::pin(named_and_unnamed(game))
    }),
    ("a start and the submit of what it ends, at once", |game| {
        Box::pin(start_and_submit(game))
    }),
    ("a new timer just before the old one's submit", |game| {
        Box::pin(start_before_submit(game))
    }),
    ("somebody else's session", |game| {
        Box::pin(somebody_elses(game))
    }),
    ("somebody else's key", |game| {
        Box::pin(somebody_elses_key(game))
    }),
    ("somebody else's project", |game| {
        Box::pin(somebody_elses_project(game))
    }),
    ("the same start twice within ten seconds", |game| {
        Box::pin(start_twice(game))
    }),
    ("one plan through three paths", |game| {
        Box::pin(three_paths(game))
    }),
    ("a hundred and twenty timers and one more", |game| {
        Box::pin(too_many(game))
    }),
];

async fn ten(game: &Game<'_>) -> Vec<Value> {
    let mut started = Vec::new();
    for number in 0..10 {
        started.push(game.start_noted(25, &number.to_string()).await);
        game.pass(5);
    }
    started
}

async fn many_timers(game: &Game<'_>) {
    let started = ten(game).await;
    for started in started.iter().rev() {
        let answer = game
            .submit_times(started, 0, 1_500)
            .await
            .expect(200)
            .json();
        assert_eq!(answer["credited_minutes"], 5);
    }
    assert_eq!(game.total().await, 50);
}

async fn many_timers_forwards(game: &Game<'_>) {
    let started = ten(game).await;
    game.pass(60);
    for (number, started) in started.iter().enumerate() {
        let answer = game
            .submit_times(started, -600, 3_000)
            .await
            .expect(200)
            .json();
        assert_eq!(answer["credited_minutes"], if number == 9 { 25 } else { 5 });
        assert_eq!(game.flags(started), ["client_clock:info"]);
    }
}

async fn second_device(game: &Game<'_>) {
    let first = game.start(25).await;
    game.pass(24);
    let plan = json!({"category": "writing", "duration": 10});
    let second = game.try_start("/api/clientb_timer_start", plan).await;
    let second = second.expect(201).json();
    game.pass(10);
    // The first session keeps its 24 minutes, and does not gain a 25th.
    assert_eq!(game.credited(&second, &json!({})).await, 10);
    assert_eq!(game.credited(&first, &json!({})).await, 24);
    assert_eq!(game.total().await, 34);
}

async fn taking_turns(game: &Game<'_>) {
    let mut started = Vec::new();
    for number in 0..20 {
        started.push(game.start_noted(20, &number.to_string()).await);
        game.pass(1);
    }
    for started in &started {
        assert_eq!(game.credited(started, &json!({})).await, 1);
    }
    assert_eq!(game.total().await, 20);
    assert_eq!(game.who.data().await["points"]["total"], 0.0);
}

async fn clients_at_once(game: &Game<'_>) {
    let starts = join_all((0..10).map(|number| {
        let body = json!({"category": "coding", "duration": 25, "note": number.to_string()});
        game.try_start("/api/session/start", body)
    }));
    let started: Vec<Value> = starts
        .await
        .into_iter()
        .map(|reply| reply.expect(201).json())
        .collect();
    game.pass(25);
    let as_it_is = json!({});
    let submits = started
        .iter()
        .map(|started| game.submit_with(started, &as_it_is));
    for reply in join_all(submits).await {
        reply.expect(200);
    }
    assert_eq!(game.total().await, 25, "one of them ran");
}

async fn submits_at_once(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(20);
    let replies =
        join_all((0..10).map(|number| game.submit_times(&started, -number, 1_500 + number)));
    let mut codes: Vec<u16> = replies.await.iter().map(|reply| reply.status).collect();
    codes.sort_unstable();
    assert_eq!(codes, [200, 409, 409, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(game.total().await, 20);
}

async fn named_and_unnamed(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(25);
    let unnamed = json!({"session_id": null});
    let none = json!({});
    let replies = join_all(
        [&unnamed, &none, &unnamed, &none].map(|fields| game.submit_with(&started, fields)),
    );
    for reply in replies.await {
        assert_eq!(
            reply.expect(200).json()["session_id"],
            started["session_id"]
        );
    }
    assert_eq!(game.total().await, 25);
}

async fn start_and_submit(game: &Game<'_>) {
    let first = game.start(60).await;
    game.pass(30);
    let next = game.start_noted(60, "next");
    let submitted = game.submit_times(&first, 0, 3_600);
    let (next, submitted) = futures_util::future::join(next, submitted).await;
    assert_eq!(submitted.expect(200).json()["credited_minutes"], 30);
    game.pass(30);
    assert_eq!(game.credited(&next, &json!({})).await, 30);
}

async fn start_before_submit(game: &Game<'_>) {
    let first = game.start(480).await;
    game.pass(10);
    let second = game.start_noted(480, "again").await;
    game.pass(470);
    // Eight hours after the start; but the session ended after ten minutes.
    let answer = game
        .submit_times(&first, 0, 28_800)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["credited_minutes"], 10);
    assert_eq!(game.credited(&second, &json!({})).await, 470);
}

async fn somebody_elses(game: &Game<'_>) {
    let other = Person::outsider(game.service, game.id + 100_000);
    let theirs = other.start_coding().await;
    game.pass(25);
    let body = honest(&theirs, game.service);
    let id = theirs["session_id"].as_str().unwrap().to_owned();
    for id in [id.clone(), id.to_uppercase()] {
        let body = changed(body.clone(), &json!({"session_id": id}));
        Game::refused(game.submit(body).await, 404, "Session not found");
    }
    let unnamed = changed(body.clone(), &json!({"session_id": null}));
    Game::refused(game.submit(unnamed).await, 409, "No open session matches");
    assert_eq!(
        other.submit(body).await.expect(200).json()["credited_minutes"],
        25
    );
}

async fn keyed(game: &Game<'_>, who: &Person<'_>, key: &str, body: Value) -> test_kit::ApiResponse {
    let call = game
        .service
        .api
        .post("/api/session/start")
        .bearer(&who.token);
    call.header("idempotency-key", key).json(body).send().await
}

async fn somebody_elses_key(game: &Game<'_>) {
    let other = Person::outsider(game.service, game.id + 100_000);
    let body = json!({"category": "coding", "duration": 25});
    let key = format!("shared-{}", game.id);
    let theirs = keyed(game, &other, &key, body.clone())
        .await
        .expect(201)
        .json();
    game.pass(25);
    let reply = keyed(game, &game.who, &key, body).await;
    game.note_start(&reply);
    let own = reply.expect(201).json();
    assert_ne!(own["session_id"], theirs["session_id"]);
    assert_eq!(game.credited(&own, &json!({})).await, 0);
}

async fn somebody_elses_project(game: &Game<'_>) {
    let project = game.who.team_project().await;
    let other = Person::outsider(game.service, game.id + 100_000);
    let plan = |id: &str| json!({"category": "coding", "duration": 25, "project_id": id});
    let refused = other.post("/api/session/start", plan(&project)).await;
    Game::refused(refused, 403, "Not authorized to access this team project");
    let made = other
        .post("/api/projects", json!({"name": "Theirs"}))
        .await
        .expect(201);
    let theirs = format!("personal_{}", made.json()["project"]["id"]);
    let refused = game.try_start("/api/session/start", plan(&theirs)).await;
    Game::refused(refused, 404, "Project not found");
    let started = game.start(25).await;
    game.pass(25);
    let told = "Locked fields differ from the plan: project_id";
    for id in [&theirs, &project] {
        let fields = json!({"project_id": id});
        Game::refused(game.submit_with(&started, &fields).await, 422, told);
    }
}

async fn start_twice(game: &Game<'_>) {
    let body = json!({"category": "coding", "duration": 25});
    let first = game
        .try_start("/api/session/start", body.clone())
        .await
        .expect(201);
    for seconds in [0, 9] {
        game.pass_seconds(seconds);
        let again = game
            .try_start("/api/session/start", body.clone())
            .await
            .expect(200);
        assert_eq!(again.text(), first.text());
    }
    game.pass(25);
    assert_eq!(game.credited(&first.json(), &json!({})).await, 25);
    let next = game
        .try_start("/api/session/start", body)
        .await
        .expect(201)
        .json();
    assert_eq!(
        game.credited(&next, &json!({})).await,
        0,
        "nothing is left over"
    );
}

async fn three_paths(game: &Game<'_>) {
    let body = json!({"category": "coding", "duration": 25, "note": "one"});
    let first = game
        .try_start("/api/clienta_timer_start", body.clone())
        .await
        .expect(201);
    for path in ["/api/clientb_timer_start", "/api/session/start"] {
        let again = game.try_start(path, body.clone()).await.expect(200);
        assert_eq!(again.text(), first.text());
    }
    assert_eq!(game.statuses(), ["running"]);
    game.pass(25);
    assert_eq!(game.credited(&first.json(), &json!({})).await, 25);
}

async fn too_many(game: &Game<'_>) {
    for number in 0..120 {
        game.start_noted(1, &number.to_string()).await;
    }
    let body = json!({"category": "coding", "duration": 1});
    Game::refused(
        game.try_start("/api/session/start", body).await,
        429,
        "Too many requests",
    );
    assert_eq!(game.total().await, 0);
}
