//! The same request twice, too late, or under another name.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::Play;
use super::game::Game;
use crate::person::{changed, honest};

pub const PLAYS: &[(&str, Play)] = &[
    ("a replay with another note", |game| {
        Box::pin(another_note(game))
    }),
    ("a replay with a longer time", |game| Box::pin(longer(game))),
    ("a replay without the id while the next one runs", |game| {
        Box::pin(onto_the_next(game))
    }),
    ("a replay a day later", |game| Box::pin(a_day_later(game))),
    ("a submit after it was given up", |game| {
        Box::pin(given_up(game))
    }),
    ("a submit at the last moment", |game| {
        Box::pin(last_moment(game))
    }),
    ("a submit hours after the next start ended it", |game| {
        Box::pin(long_ended(game))
    }),
    ("an id in another spelling", |game| {
        Box::pin(spellings(game))
    }),
    ("a key with another body", |game| {
        Box::pin(key_of_another(game))
    }),
    ("a key of a session that is over", |game| {
        Box::pin(key_again(game))
    }),
    ("locked fields by an edit", |game| Box::pin(edited(game))),
    ("earnings by an edit", |game| Box::pin(paid_by_edit(game))),
    ("a mismatch after the submit", |game| {
        Box::pin(mismatch_after(game))
    }),
];

const SUBMITTED: &str = "Session already submitted";

async fn worked(game: &Game<'_>) -> Value {
    let started = game.start(25).await;
    game.pass(20);
    assert_eq!(game.credited(&started, &json!({})).await, 20);
    started
}

async fn another_note(game: &Game<'_>) {
    let started = worked(game).await;
    let at = honest(&started, game.service)["end_time"].clone();
    for note in ["", "better", "done ", "DONE"] {
        let fields = json!({"note": note, "end_time": at});
        Game::refused(game.submit_with(&started, &fields).await, 409, SUBMITTED);
    }
    // An identical submit gets the same response again.
    let again = game.submit_with(&started, &json!({"end_time": at})).await;
    assert_eq!(again.expect(200).json()["credited_minutes"], 20);
    assert_eq!(game.total().await, 20);
}

async fn longer(game: &Game<'_>) {
    let started = worked(game).await;
    game.pass(5);
    for seconds in [1_201, 1_500, 86_400] {
        Game::refused(
            game.submit_times(&started, 0, seconds).await,
            409,
            SUBMITTED,
        );
    }
    assert_eq!(game.total().await, 20);
}

async fn onto_the_next(game: &Game<'_>) {
    let first = game.start(25).await;
    game.pass(25);
    let body = changed(honest(&first, game.service), &json!({"session_id": null}));
    let answer = game.submit(body.clone()).await.expect(200).text();
    let second = game.start_noted(25, "next").await;
    game.pass(1);
    for _ in 0..3 {
        assert_eq!(game.submit(body.clone()).await.expect(200).text(), answer);
    }
    assert_eq!(game.statuses(), ["completed", "running"]);
    game.pass(24);
    assert_eq!(game.credited(&second, &json!({})).await, 25);
}

async fn a_day_later(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(25);
    let body = honest(&started, game.service);
    let answer = game.submit(body.clone()).await.expect(200).text();
    for _ in 0..3 {
        game.service.clock.advance(TimeDelta::days(1));
        assert_eq!(game.submit(body.clone()).await.expect(200).text(), answer);
    }
    let data = game.who.data().await;
    assert_eq!(data["points"]["today"], 0.0);
    assert_eq!(data["streaks"]["longest"], 1);
}

async fn given_up(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(25 + 12 * 60);
    let unnamed = json!({"session_id": null});
    let refused = game.submit_with(&started, &unnamed).await;
    Game::refused(refused, 409, "No open session matches");
    let answer = game
        .submit_times(&started, 0, 1_500)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["status"], "abandoned");
    assert_eq!(answer["points_awarded"], 0.0);
    Game::refused(game.submit_times(&started, 0, 1_499).await, 409, SUBMITTED);
    assert_eq!(game.total().await, 0);
}

async fn last_moment(game: &Game<'_>) {
    let started = game.start(25).await;
    game.pass(25 + 12 * 60);
    game.pass_seconds(-1);
    let answer = game
        .submit_times(&started, 0, 44_000)
        .await
        .expect(200)
        .json();
    // Twelve hours of overrun are worth nothing.
    assert_eq!(answer["credited_minutes"], 25);
}

async fn long_ended(game: &Game<'_>) {
    let first = game.start(300).await;
    game.pass(10);
    let second = game.start_noted(5, "short").await;
    game.pass(600);
    assert_eq!(game.credited(&first, &json!({})).await, 10);
    assert_eq!(game.credited(&second, &json!({})).await, 5);
}

async fn spellings(game: &Game<'_>) {
    let started = game.start(25).await;
    let id = started["session_id"].as_str().unwrap().to_owned();
    game.pass(25);
    for other in [
        id.replace('-', ""),
        format!("{{{id}}}"),
        format!("urn:uuid:{id}"),
        format!(" {id}"),
        format!("{id}\u{200b}"),
        format!("{id}' OR '1'='1"),
        String::new(),
    ] {
        let refused = game
            .submit_with(&started, &json!({"session_id": other}))
            .await;
        Game::refused(refused, 404, "Session not found");
    }
    let upper = json!({"session_id": id.to_uppercase()});
    assert_eq!(game.credited(&started, &upper).await, 25);
    assert_eq!(
        game.credited(&started, &json!({})).await,
        25,
        "the same one"
    );
    let refused = game.submit_with(&started, &json!({"note": "other"})).await;
    Game::refused(refused, 409, SUBMITTED);
    assert_eq!(game.total().await, 25);
}

async fn keyed(game: &Game<'_>, body: Value) -> test_kit::ApiResponse {
    let call = game
        .service
        .api
        .post("/api/session/start")
        .bearer(&game.who.token);
    let reply = call
        .header("idempotency-key", "mine")
        .json(body)
        .send()
        .await;
    game.note_start(&reply);
    reply
}

async fn key_of_another(game: &Game<'_>) {
    let body = json!({"category": "coding", "duration": 25});
    let started = keyed(game, body.clone()).await.expect(201).json();
    for fields in [
        json!({"duration": 480}),
        json!({"category": "meeting"}),
        json!({"note": "x"}),
        json!({"project_id": game.who.team_project().await}),
    ] {
        let told = "Idempotency-Key was used with another request";
        Game::refused(keyed(game, changed(body.clone(), &fields)).await, 422, told);
    }
    game.pass(25);
    assert_eq!(keyed(game, body).await.expect(200).json(), started);
    assert_eq!(game.credited(&started, &json!({})).await, 25);
}

async fn key_again(game: &Game<'_>) {
    let body = json!({"category": "coding", "duration": 25});
    let first = keyed(game, body.clone()).await.expect(201).json();
    game.pass(25);
    assert_eq!(game.credited(&first, &json!({})).await, 25);
    let second = keyed(game, body).await.expect(201).json();
    assert_ne!(second["session_id"], first["session_id"]);
    let answer = game
        .submit_times(&second, 0, 1_500)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["credited_minutes"], 0, "it has to be worked again");
}

async fn patch(game: &Game<'_>, started: &Value, body: Value) -> test_kit::ApiResponse {
    let path = format!("/api/sessions/{}", started["session_id"].as_str().unwrap());
    let call = game.service.api.call("PATCH".parse().unwrap(), &path);
    call.bearer(&game.who.token).json(body).send().await
}

async fn edited(game: &Game<'_>) {
    let started = worked(game).await;
    for (name, value) in [
        ("category", json!("meeting")),
        ("duration", json!(480)),
        ("project_id", json!("team_1")),
    ] {
        let told = format!("Locked fields differ from the plan: {name}");
        Game::refused(
            patch(game, &started, json!({name: value})).await,
            422,
            &told,
        );
    }
    assert_eq!(game.total().await, 20);
}

async fn paid_by_edit(game: &Game<'_>) {
    let started = worked(game).await;
    let before = game.who.data().await;
    let body = json!({
        "credited_minutes": 480, "points_awarded": 999, "status": "completed", "started_at": "2026-01-01T00:00:00Z",
        "end_time": "2026-12-01T00:00:00Z", "note": "paid", "quality_rating": 5, "tags": ["paid"], "flags": [],
    });
    patch(game, &started, body).await.expect(200);
    assert_eq!(game.who.data().await, before);
}

async fn mismatch_after(game: &Game<'_>) {
    let started = worked(game).await;
    let fields = json!({"duration": 480, "category": "meeting"});
    Game::refused(game.submit_with(&started, &fields).await, 409, SUBMITTED);
    assert!(game.flags(&started).is_empty(), "no mark on what is over");
}
