//! What the event stream sends, to which users, and for how long.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::caller::{Caller, changed, honest};
use crate::event_stream_client::StreamClient;
use crate::fake_identity::{EXPIRES_AT, FakeIdentity};
use crate::service_fixture::Service;

async fn patch(caller: &Caller<'_>, session: &Value, body: Value) {
    let path = format!("/api/sessions/{}", session["session_id"].as_str().unwrap());
    let call = caller.service.api.call("PATCH".parse().unwrap(), &path);
    call.bearer(&caller.token)
        .json(body)
        .send()
        .await
        .expect(200);
}

async fn shown(caller: &Caller<'_>, session: &Value) -> Value {
    let path = format!("/api/sessions/{}", session["session_id"].as_str().unwrap());
    caller.get(&path).await.expect(200).json()["session"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_own_sessions_and_points_arrive_within_a_second() {
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let ada = Caller::outsider(&service, 7);
    // Earlier events are not sent.
    ada.start_coding().await;
    let mut tablet = StreamClient::open(&service.api, &ada.token).await;
    let mut phone = StreamClient::open(&service.api, &ada.token).await;
    let began = Instant::now();
    let started = ada
        .start(json!({"category": "coding", "duration": 50}))
        .await;
    for client in [&mut tablet, &mut phone] {
        let ended = client.expect("timer").await;
        assert_eq!(ended["session"]["status"], "awaiting_submit");
        let timer = client.expect("timer").await;
        assert_eq!(timer, json!({"session": shown(&ada, &started).await}));
    }
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );

    service.clock.advance(TimeDelta::minutes(50));
    let cheat = changed(honest(&started, &service), &json!({"duration": 60}));
    ada.submit(cheat).await.expect(422);
    let flagged = tablet.expect("timer").await;
    assert_eq!(flagged["session"]["flags"][0]["kind"], "locked_mismatch");
    let submitted = ada.submit(honest(&started, &service)).await;
    let submitted = submitted.expect(200).json();
    let timer = tablet.expect("timer").await;
    assert_eq!(timer, json!({"session": shown(&ada, &started).await}));
    let points = tablet.expect("points").await;
    for name in [
        "session_id",
        "credited_minutes",
        "points_awarded",
        "points",
        "streaks",
        "new_badges",
    ] {
        assert_eq!(points[name], submitted[name], "{name}");
    }
    assert_eq!(points["new_badges"], json!(["first_session"]));
    assert_eq!(points.as_object().unwrap().len(), 6);

    // An edit earns nothing, now or later.
    for (minutes, rating) in [(0, 4), (60, 5)] {
        service.clock.advance(TimeDelta::minutes(minutes));
        patch(&ada, &started, json!({"quality_rating": rating})).await;
        let edited = tablet.expect("timer").await;
        assert_eq!(edited["session"]["quality_rating"], rating);
    }
    ada.start_coding().await;
    assert_eq!(tablet.expect("timer").await["session"]["status"], "running");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn team_events_reach_only_the_members_of_the_projects_team() {
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let (ada, grace) = (Caller::member(&service, 7), Caller::member(&service, 8));
    let eve = Caller::outsider(&service, 9);
    let project = ada.team_project().await;
    let mut of_grace = StreamClient::open(&service.api, &grace.token).await;
    let mut of_eve = StreamClient::open(&service.api, &eve.token).await;

    ada.start_coding().await;
    let body =
        json!({"category": "design", "duration": 30, "project_id": project, "note": "secret plan"});
    let started = ada.start(body).await;
    let expected = json!({
        "session_id": started["session_id"],
        "user": {"id": 7, "username": "person7"},
        "project": {"id": project, "name": "Engine", "team_id": 3, "team_name": "Engines"},
        "category": "design",
        "planned_duration": 30,
        "status": "running",
        "started_at": started["started_at"],
        "expected_end_at": started["expected_end_at"],
    });
    assert_eq!(of_grace.expect("team").await, expected);

    service.clock.advance(TimeDelta::minutes(30));
    let done = changed(honest(&started, &service), &json!({"note": "secret note"}));
    ada.submit(done).await.expect(200);
    let completed = changed(expected, &json!({"status": "completed"}));
    assert_eq!(of_grace.expect("team").await, completed);
    // Later edits stay with their user.
    patch(&ada, &started, json!({"note": "another secret"})).await;

    // A user's own team session arrives twice: as the user's event and as the team's.
    let body = json!({"category": "design", "duration": 30, "project_id": project});
    let own = grace.start(body).await;
    let timer = of_grace.expect("timer").await;
    assert_eq!(timer["session"]["session_id"], own["session_id"]);
    let team = of_grace.expect("team").await;
    assert_eq!(team["user"], json!({"id": 8, "username": "person8"}));

    // A non-member received none of this: the first event is about their own start.
    let own = eve.start_coding().await;
    let timer = of_eve.expect("timer").await;
    assert_eq!(timer["session"]["session_id"], own["session_id"]);
    service.stop().await;
}

/// Waits for `times` more validations at the identity service, all of them by streams.
async fn until_validated(identity: &FakeIdentity, times: usize) {
    let before = identity.validation_count();
    let more = async || (identity.validation_count() >= before + times).then_some(());
    test_kit::wait_until("checks", Duration::from_secs(10), more).await;
}

/// Reads up to the event about that session.
async fn read_until(client: &mut StreamClient, started: &Value) {
    loop {
        let (_, data) = client.next_event().await.expect("the session's event");
        let id = data.pointer("/session/session_id");
        if id.or(data.get("session_id")) == Some(&started["session_id"]) {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_member_gets_no_team_events_after_the_next_check() {
    let (service, identity) = Service::with_event_stream(json!({"recheck_seconds": 1})).await;
    let (ada, grace) = (Caller::member(&service, 7), Caller::member(&service, 8));
    let project = ada.team_project().await;
    let mut of_ada = StreamClient::open(&service.api, &ada.token).await;
    let mut of_grace = StreamClient::open(&service.api, &grace.token).await;
    let start = async |note: &str| {
        let body =
            json!({"category": "design", "duration": 30, "project_id": project, "note": note});
        ada.start(body).await
    };
    let one = start("one").await;
    assert_eq!(
        of_grace.expect("team").await["session_id"],
        one["session_id"]
    );
    identity.answer_like(&grace.token, "outsider-8");
    // Each of the two streams then has the result of a check that began after the change.
    until_validated(&identity, 4).await;
    let two = start("two").await;
    read_until(&mut of_ada, &two).await;
    // Events keep their order: one about the team's start would come first.
    let own = grace.start_coding().await;
    let timer = of_grace.expect("timer").await;
    assert_eq!(timer["session"]["session_id"], own["session_id"]);

    // A new member gets team events again.
    identity.answer_like(&grace.token, "member-8");
    until_validated(&identity, 4).await;
    start("three").await;
    of_grace.expect("team").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token() {
    let (service, identity) = Service::with_event_stream(json!({"recheck_seconds": 1})).await;
    let ada = Caller::outsider(&service, 7);
    for (after, reason) in [
        (TimeDelta::zero(), "revoked"),
        (TimeDelta::days(365), "expired"),
    ] {
        identity.answer_like(&ada.token, &ada.token);
        let mut client = StreamClient::open(&service.api, &ada.token).await;
        let began = Instant::now();
        service.clock.advance(after);
        identity.answer_like(&ada.token, "401");
        assert_eq!(client.expect("end").await, json!({"reason": reason}));
        assert_eq!(client.next_event().await, None);
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "{:?}",
            began.elapsed()
        );
    }
    assert!(service.time.now().timestamp() > EXPIRES_AT);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_with_an_unverifiable_token_sends_only_own_events_and_then_ends() {
    let (service, identity) = Service::with_event_stream(json!({"recheck_seconds": 1})).await;
    let (ada, grace) = (Caller::member(&service, 7), Caller::member(&service, 8));
    let project = ada.team_project().await;
    let mut of_grace = StreamClient::open(&service.api, &grace.token).await;
    let mut of_ada = StreamClient::open(&service.api, &ada.token).await;
    identity.answer_like(&grace.token, "500");
    until_validated(&identity, 4).await;
    let body = json!({"category": "design", "duration": 30, "project_id": project});
    let started = ada.start(body).await;
    read_until(&mut of_ada, &started).await;
    // Under another token, which is still valid.
    let own = Caller::outsider(&service, 8).start_coding().await;
    read_until(&mut of_grace, &own).await;
    identity.answer_like(&grace.token, "member-8");
    assert_eq!(
        of_grace.expect("reset").await,
        json!({"reason": "withheld"}),
        "the team's start is withheld, and the client learns of it"
    );
    let began = Instant::now();
    identity.answer_like(&grace.token, "500");
    assert_eq!(
        of_grace.expect("end").await,
        json!({"reason": "unverified"})
    );
    let took = began.elapsed();
    assert!(
        (5..=9).contains(&took.as_secs()),
        "six checks, a second apart: {took:?}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconnecting_stream_gets_the_missed_events() {
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let (ada, grace) = (Caller::member(&service, 7), Caller::member(&service, 8));
    let eve = Caller::outsider(&service, 9);
    let project = ada.team_project().await;
    let mut first = StreamClient::open(&service.api, &grace.token).await;
    let before = grace.start_coding().await;
    first.expect("timer").await;
    let last = first.last_id.clone().unwrap();
    drop(first);

    service.clock.advance(TimeDelta::minutes(4));
    let mine = grace
        .start(json!({"category": "coding", "duration": 60}))
        .await;
    let theirs = json!({"category": "design", "duration": 30, "project_id": project});
    let theirs = ada.start(theirs).await;
    eve.start_coding().await;
    let mut again = StreamClient::resume(&service.api, &grace.token, Some(&last)).await;
    let mut received = HashMap::new();
    let hello = loop {
        let block = again.next_block().await.unwrap();
        match block.event.as_str() {
            "" => assert_eq!(block.retry, "2000"),
            "timer" => {
                assert!(block.id.as_deref() >= Some(last.as_str()), "{block:?}");
                let session = &block.data["session"];
                received.insert(session["session_id"].clone(), session["status"].clone());
            }
            "team" => {
                received.insert(block.data["session_id"].clone(), json!("team"));
            }
            "hello" => break block,
            other => panic!("{other}"),
        }
    };
    let expected = HashMap::from([
        (before["session_id"].clone(), json!("awaiting_submit")),
        (mine["session_id"].clone(), json!("running")),
        (theirs["session_id"].clone(), json!("team")),
    ]);
    assert_eq!(received, expected);
    assert!(hello.id.as_deref() >= Some(last.as_str()), "{hello:?}");

    // Ids that are too old, invalid or never issued get a reset.
    service.clock.advance(TimeDelta::minutes(2));
    for invalid_id in [last.as_str(), "7", "never", "99999999999999999"] {
        let mut client = StreamClient::resume(&service.api, &grace.token, Some(invalid_id)).await;
        assert_eq!(
            client.expect("reset").await,
            json!({"reason": "unknown"}),
            "{invalid_id}"
        );
        client.expect("hello").await;
    }
    service.stop().await;
}

/// Starts sessions one after another and submits every second one.
async fn start_sessions(caller: &Caller<'_>, rounds: usize) {
    for round in 0..rounds {
        let body = json!({"category": "coding", "duration": 25, "note": round.to_string()});
        let started = caller.start(body).await;
        caller.service.clock.advance(TimeDelta::seconds(4));
        if round % 2 == 0 && round + 1 < rounds {
            caller
                .submit(honest(&started, caller.service))
                .await
                .expect(200);
        }
    }
}

/// Whether exactly one session runs, so that all others have ended.
fn has_one_running(known: &HashMap<String, Value>) -> bool {
    let running = known
        .values()
        .filter(|session| session["status"] == "running");
    running.count() == 1
}

/// Returns the sessions that a client knows whose connection breaks after every few events.
async fn reconnect_repeatedly(
    caller: &Caller<'_>,
    mut last: Option<String>,
    sessions: usize,
) -> HashMap<String, Value> {
    let mut known = HashMap::new();
    for cut in 1.. {
        let mut client =
            StreamClient::resume(&caller.service.api, &caller.token, last.as_deref()).await;
        let mut left = 9 + cut % 5;
        while left > 0 {
            match client.next_event().await {
                Some((event, data)) if event == "timer" => {
                    let session = data["session"].clone();
                    let id = session["session_id"].as_str().unwrap().to_owned();
                    known.insert(id, session);
                    left -= 1;
                }
                Some((event, data)) => assert_ne!(event, "reset", "{data}"),
                None => panic!("the stream ended"),
            }
            if known.len() == sessions && has_one_running(&known) {
                return known;
            }
        }
        last = client.last_id.clone();
    }
    unreachable!()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reconnects_repeatedly_misses_nothing() {
    const SESSIONS: usize = 60;
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let ada = Caller::outsider(&service, 7);
    let last = StreamClient::open(&service.api, &ada.token).await.last_id;
    let reader = reconnect_repeatedly(&ada, last, SESSIONS);
    let (known, ()) = futures_util::future::join(reader, start_sessions(&ada, SESSIONS)).await;
    let all = ada.get("/api/sessions?limit=200").await.expect(200).json();
    let all = all["sessions"].as_array().unwrap();
    assert_eq!(all.len(), known.len());
    for session in all {
        let id = session["session_id"].as_str().unwrap();
        assert_eq!(known[id], *session, "{id}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_made_by_another_process_reach_the_stream() {
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let ada = Caller::outsider(&service, 7);
    let (other, api) = service.start_second_process().await;
    let mut here = StreamClient::open(&service.api, &ada.token).await;
    let mut there = StreamClient::open(&api, &ada.token).await;
    for (number, api) in [&service.api, &api, &service.api].into_iter().enumerate() {
        let began = Instant::now();
        let body = json!({"category": "coding", "duration": 25, "note": number.to_string()});
        let call = api.post("/api/session/start").bearer(&ada.token).json(body);
        let started = call.send().await.expect(201).json();
        for client in [&mut here, &mut there] {
            loop {
                let timer = client.expect("timer").await;
                if timer["session"]["session_id"] == started["session_id"] {
                    assert_eq!(timer["session"]["status"], "running");
                    break;
                }
                assert_eq!(timer["session"]["status"], "awaiting_submit");
            }
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
    other.stop().await;
    assert_eq!(there.expect("end").await, json!({"reason": "shutdown"}));
    service.stop().await;
}
