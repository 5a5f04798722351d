//! None of these earns more than the server itself measured.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::identity::Service;
use crate::person::{Person, changed, flags, honest, statuses, time};

/// One session of 25 planned minutes, submitted once.
struct Attempt {
    name: &'static str,
    /// Seconds that pass on the server before the submit.
    server: i64,
    /// Seconds of the client's start and end after the server's start.
    client: (i64, i64),
    /// Fields in place of the honest ones.
    fields: Value,
    expected: Expected,
    flags: &'static [&'static str],
}

enum Expected {
    Completed,
    /// Minutes, points.
    Partial(i32, f64),
    /// Status, error.
    Refused(u16, &'static str),
}

fn attempt(
    name: &'static str,
    server: i64,
    client: (i64, i64),
    expected: Expected,
    flags: &'static [&'static str],
) -> Attempt {
    Attempt {
        name,
        server,
        client,
        fields: json!({}),
        expected,
        flags,
    }
}

fn changed_plan(name: &'static str, fields: Value, differing: &'static str) -> Attempt {
    Attempt {
        name,
        server: 1500,
        client: (0, 1500),
        fields,
        expected: Expected::Refused(422, differing),
        flags: &["locked_mismatch:info"],
    }
}

const CLOCK: &str = "client_clock:info";
const FUTURE: &str = "future_end:suspect";

fn attempts() -> Vec<Attempt> {
    use Expected::{Completed, Partial, Refused};
    vec![
        attempt("an honest session", 1500, (0, 1500), Completed, &[]),
        attempt("five seconds are forgiven", 1495, (0, 1495), Completed, &[]),
        attempt("six are not", 1494, (0, 1494), Partial(24, 1.22), &[]),
        attempt("submitted at once", 0, (0, 0), Partial(0, 0.0), &[]),
        attempt(
            "submitted at once with a whole session's times",
            0,
            (0, 1500),
            Partial(0, 0.0),
            &[FUTURE],
        ),
        attempt(
            "a backdated start",
            300,
            (-1200, 300),
            Partial(5, 0.0),
            &[CLOCK],
        ),
        attempt(
            "a start backdated by a day",
            300,
            (-86_400, 300),
            Partial(5, 0.0),
            &[CLOCK],
        ),
        attempt("a future end", 780, (0, 1500), Partial(13, 0.66), &[FUTURE]),
        attempt(
            "an end a year ahead",
            780,
            (0, 31_536_000),
            Partial(13, 0.66),
            &[FUTURE],
        ),
        attempt(
            "backdated and ahead",
            780,
            (-1500, 3000),
            Partial(13, 0.66),
            &[CLOCK, FUTURE],
        ),
        attempt(
            "a whole session of yesterday",
            60,
            (-86_400, -84_900),
            Partial(1, 0.0),
            &[CLOCK],
        ),
        attempt(
            "a whole session of tomorrow",
            60,
            (86_400, 87_900),
            Partial(1, 0.0),
            &[CLOCK, FUTURE],
        ),
        attempt(
            "two minutes off are no sign",
            1500,
            (-120, 1380),
            Completed,
            &[],
        ),
        attempt(
            "a clock that is off is noted, not refused",
            1500,
            (-121, 1379),
            Completed,
            &[CLOCK],
        ),
        attempt("overrun", 7200, (0, 7200), Completed, &[]),
        attempt(
            "the client admits less",
            1500,
            (0, 900),
            Partial(15, 0.77),
            &[],
        ),
        attempt("half of the plan", 750, (0, 750), Partial(12, 0.61), &[]),
        attempt(
            "a second less than half",
            749,
            (0, 749),
            Partial(12, 0.0),
            &[],
        ),
        attempt("a moment", 1500, (0, 0), Partial(0, 0.0), &[]),
        attempt(
            "backwards",
            1500,
            (0, -1),
            Refused(400, "end_time must not be before start_time"),
            &[],
        ),
        changed_plan("category", json!({"category": "writing"}), "category"),
        changed_plan(
            "category in capitals",
            json!({"category": "Coding"}),
            "category",
        ),
        changed_plan("no category", json!({"category": ""}), "category"),
        changed_plan("a longer plan", json!({"duration": 480}), "duration"),
        changed_plan("a shorter plan", json!({"duration": 24}), "duration"),
        changed_plan("zero", json!({"duration": 0}), "duration"),
        changed_plan("negative", json!({"duration": -25}), "duration"),
        changed_plan("huge", json!({"duration": i64::MAX}), "duration"),
        changed_plan(
            "another project",
            json!({"project_id": "personal_1"}),
            "project_id",
        ),
        changed_plan(
            "the team's project",
            json!({"project_id": "team_1"}),
            "project_id",
        ),
        changed_plan(
            "two",
            json!({"duration": 5, "category": "x"}),
            "category, duration",
        ),
        changed_plan(
            "another two",
            json!({"project_id": "team_1", "category": "x"}),
            "category, project_id",
        ),
        changed_plan(
            "the other two",
            json!({"project_id": "team_1", "duration": 5}),
            "duration, project_id",
        ),
        changed_plan(
            "all three",
            json!({"project_id": "team_1", "duration": 5, "category": "x"}),
            "category, duration, project_id",
        ),
        changed_plan(
            "without an id",
            json!({"session_id": null, "duration": 5, "category": "x"}),
            "category, duration",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_submit_earns_more_than_the_server_measured() {
    let (service, _stub) = Service::with_stub(0).await;
    for (user, attempt) in (100..).zip(attempts()) {
        let Attempt {
            name,
            server,
            client,
            fields,
            expected,
            flags: expected_flags,
        } = attempt;
        let person = Person::outsider(&service, user);
        let started = person.start_coding().await;
        service.clock.advance(TimeDelta::seconds(server));
        let at = |offset| (time(&started["started_at"]) + TimeDelta::seconds(offset)).to_rfc3339();
        let times = json!({"start_time": at(client.0), "end_time": at(client.1)});
        let body = changed(changed(honest(&started, &service), &times), &fields);
        let reply = person.submit(body).await;
        let credited = |status: &str, minutes: i32, points: f64| {
            assert_eq!(reply.status, 200, "{name}: {}", reply.text());
            let answer = reply.json();
            assert_eq!(answer["status"], status, "{name}");
            assert_eq!(answer["credited_minutes"], minutes, "{name}");
            assert_eq!(answer["points_awarded"], points, "{name}");
            assert_eq!(answer["points"]["total"], points, "{name}");
        };
        match expected {
            Expected::Completed => credited("completed", 25, 2.55),
            Expected::Partial(minutes, points) => credited("partial", minutes, points),
            Expected::Refused(status, error) => {
                assert_eq!(reply.status, status, "{name}: {}", reply.text());
                let sentence = reply.json()["error"].as_str().unwrap().to_owned();
                assert_eq!(
                    sentence.trim_start_matches("Locked fields differ from the plan: "),
                    error,
                    "{name}"
                );
                assert_eq!(statuses(&service, user), ["running"], "{name}");
                person.submit(honest(&started, &service)).await.expect(200);
            }
        }
        assert_eq!(
            flags(&service, &started["session_id"]),
            expected_flags,
            "{name}"
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_cannot_be_taken_away_from_a_plan() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::member(&service, 7);
    let project = ada.team_project().await;
    let started = ada
        .start(json!({"category": "coding", "duration": 25, "project_id": project}))
        .await;
    service.clock.advance(TimeDelta::minutes(25));
    let body = honest(&started, &service);
    let explicit_null = {
        let mut body = body.clone();
        body["project_id"] = Value::Null;
        body
    };
    for body in [
        changed(body.clone(), &json!({"project_id": "none"})),
        changed(body.clone(), &json!({"project_id": ""})),
        explicit_null,
    ] {
        let refused = ada.submit(body).await.expect(422).json();
        assert_eq!(
            refused,
            json!({"error": "Locked fields differ from the plan: project_id"})
        );
    }
    // The third attempt on one session is suspect, and more are not written down.
    ada.submit(changed(body.clone(), &json!({"project_id": "none"})))
        .await
        .expect(422);
    let info = "locked_mismatch:info";
    assert_eq!(
        flags(&service, &started["session_id"]),
        [info, info, "locked_mismatch:suspect"]
    );
    ada.submit(changed(body, &json!({"project_id": null})))
        .await
        .expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_users_session_cannot_be_submitted() {
    let (service, _stub) = Service::with_stub(0).await;
    let (ada, bob) = (Person::outsider(&service, 7), Person::outsider(&service, 8));
    let started = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let body = honest(&started, &service);
    let missing = bob.submit(body.clone()).await.expect(404).json();
    assert_eq!(missing, json!({"error": "Session not found"}));
    bob.submit(changed(body, &json!({"session_id": null})))
        .await
        .expect(409);
    assert_eq!(statuses(&service, 7), ["running"]);
    assert_eq!(bob.data().await["points"]["total"], 0.0);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_timers_credit_no_minute_twice() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
    // Ten plans of 25 minutes, five minutes apart, each submitted as if it had run to its end.
    let mut started = Vec::new();
    for number in 0..10 {
        let body = json!({"category": "coding", "duration": 25, "note": number.to_string()});
        started.push(ada.start(body).await);
        service.clock.advance(TimeDelta::minutes(5));
    }
    let mut minutes = 0;
    for (number, started) in started.iter().enumerate().rev() {
        let end: DateTime<Utc> = time(&started["started_at"]) + TimeDelta::minutes(25);
        let body = changed(honest(started, &service), &json!({"end_time": end}));
        let answer = ada.submit(body).await.expect(200).json();
        assert_eq!(answer["credited_minutes"], 5, "session {number}");
        minutes += answer["credited_minutes"].as_i64().unwrap();
    }
    assert_eq!(minutes, 50);
    assert_eq!(ada.data().await["session_stats"]["total_minutes"], 50);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_without_sleep_is_capped_and_suspect() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
    service.clock.advance(TimeDelta::hours(15));
    let credited = async |minutes| {
        let answer = ada.work("coding", minutes).await;
        let signs = flags(&service, &answer["session_id"]);
        (
            answer["credited_minutes"].as_i64().unwrap(),
            answer["status"] == "completed",
            signs,
        )
    };
    let suspect = || vec!["long_day:suspect".to_owned()];
    assert_eq!(credited(480).await, (480, true, vec![]));
    assert_eq!(credited(240).await, (240, true, vec![]));
    assert_eq!(credited(60).await, (60, true, suspect()));
    assert_eq!(credited(300).await, (180, true, suspect()));
    assert_eq!(credited(300).await, (0, true, suspect()));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hopping_time_zones_makes_no_streak_longer_than_the_days_that_passed() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
    ada.set_zone("Pacific/Pago_Pago").await;
    ada.work("coding", 25).await;
    // One change a day; each moves the date, and none of them the time.
    for (day, zone) in [
        "Pacific/Kiritimati",
        "Pacific/Pago_Pago",
        "Pacific/Kiritimati",
    ]
    .iter()
    .enumerate()
    {
        ada.set_zone(zone).await;
        for other in ["Asia/Tokyo", "Europe/Berlin"] {
            let call = service.api.put("/api/user/preferences").bearer(&ada.token);
            call.json(json!({"timezone": other}))
                .send()
                .await
                .expect(409);
        }
        ada.work("coding", 25).await;
        let current = ada.data().await["streaks"]["longest"].as_i64().unwrap();
        // Days that passed, the one of the start, and what the far side of the date line is ahead.
        assert!(
            current <= i64::try_from(day).unwrap() + 2,
            "{current} after {day} days"
        );
        service.clock.advance(TimeDelta::hours(24));
    }
    service.stop().await;
}
