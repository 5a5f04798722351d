//! Accounts that are gone, and what is left of them: nothing.

use std::sync::atomic::Ordering;

use broker::Outcome;
use chrono::{DateTime, TimeDelta};
use event_types::{Event, EventData, Notification, NotificationDelivered};
use serde_json::{Value, json};
use test_kit::{TestBackend, wait_until};
use uuid::Uuid;

use crate::identity::Service;
use crate::identity_events::{PATIENCE, World, team_changed, user_gone};
use crate::locks::{Open, until_waiting};
use crate::person::{Person, changed, honest, statuses};
use crate::rows::{self, Row};

/// An id that no other value contains.
const GONE: i64 = 7_340_034;
/// After this no request of hers can still be under way.
const SETTLED: TimeDelta = TimeDelta::minutes(3);

fn sessions_of(user: i64) -> String {
    format!("SELECT count(*) AS number FROM sessions WHERE user_id = {user}")
}

/// Rows about her: with her id, her name, or one of her sessions.
fn about<'a>(rows: &'a [Row], sessions: &[String]) -> Vec<&'a Row> {
    let id = GONE.to_string();
    let is_hers = |row: &&Row| {
        row.text.contains(&id) || sessions.iter().any(|session| row.text.contains(session))
    };
    rows.iter().filter(is_hers).collect()
}

/// What lies there apart from what is on its way from one part to the other.
fn lasting(rows: Vec<Row>) -> Vec<Row> {
    let passing = ["inbox", "outbox", "outbox_leases", "teams", "departures"];
    rows.into_iter()
        .filter(|row| !passing.contains(&row.table.as_str()))
        .collect()
}

async fn until_closed(service: &Service) {
    wait_until("the last look", PATIENCE, async || {
        (rows::count(service, "SELECT count(*) AS number FROM departures") == 0).then_some(())
    })
    .await;
}

async fn until_nothing_of_hers(service: &Service, sessions: &[String]) {
    wait_until("her rows to go", PATIENCE, async || {
        let rows = lasting(rows::all(service));
        about(&rows, sessions).is_empty().then_some(())
    })
    .await;
}

/// Does everything that leaves a row, and gives the ids of the sessions.
async fn live(world: &World, person: &Person<'_>) -> Vec<String> {
    person.set_zone("Europe/Berlin").await;
    let project = person
        .post("/api/projects", json!({"name": "Diary"}))
        .await
        .expect(201)
        .json();
    let personal = format!("personal_{}", project["project"]["id"]);
    let team = person.team_project().await;
    let mut sessions = Vec::new();
    for project in [personal.as_str(), &team, "none"] {
        let plan = json!({"category": "coding", "duration": 25, "project_id": project});
        let started = person.start(plan).await;
        world.service.clock.advance(TimeDelta::minutes(25));
        let submit = honest(&started, &world.service);
        let other = changed(submit.clone(), &json!({"category": "study"}));
        person.submit(other).await.expect(422);
        person.submit(submit).await.expect(200);
        sessions.push(started["session_id"].as_str().unwrap().to_owned());
    }
    let keyed = world
        .service
        .api
        .post("/api/session/start")
        .bearer(&person.token);
    let keyed = keyed
        .header("idempotency-key", "one")
        .json(json!({"category": "coding", "duration": 25}));
    let running = keyed.send().await.expect(201).json();
    sessions.push(running["session_id"].as_str().unwrap().to_owned());
    for session in &sessions {
        told_in_chat(world, session).await;
    }
    // Of an event that does not come: what is told of the others is not for here.
    let webhook = json!({"url": "https://hooks.example/x", "events": ["session.abandoned.v1"]});
    let verified = person.token.replace("member", "verified");
    let service = person.service;
    let reachable = Person {
        service,
        token: verified,
    };
    let made = reachable
        .post("/api/webhooks", webhook)
        .await
        .expect(201)
        .json();
    let test = format!("/api/webhooks/{}/test", made["webhook"]["id"]);
    person.post(&test, json!({})).await.expect(202);
    let chat = format!(
        "/api/team-projects/{}/chat",
        team.trim_start_matches("team_")
    );
    let hook = json!({"provider": "slack", "webhook_url": crate::chat::HOOK});
    person.put(&chat, hook).await.expect(200);
    sessions
}

/// The notifier says that the team was told of the session.
async fn told_in_chat(world: &World, session: &str) {
    let data = NotificationDelivered {
        notification: Notification {
            about: "session.started.v1".to_owned(),
            also: Vec::new(),
            event_id: Uuid::now_v7(),
            session_id: session.parse().unwrap(),
            project_id: None,
            at: DateTime::UNIX_EPOCH,
        },
    };
    world.tell(&data).await;
    let sql =
        format!("SELECT count(*) AS number FROM notifications WHERE session_id = '{session}'");
    wait_until("the notification", PATIENCE, async || {
        (rows::count(&world.service, &sql) == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_user_who_is_gone_is_left_in_any_table_and_everything_of_others_is() {
    let world = World::start().await;
    let (her, other) = (
        Person::member(&world.service, GONE),
        Person::member(&world.service, 8),
    );
    let others = live(&world, &other).await;
    let hers = live(&world, &her).await;
    let before = lasting(rows::all(&world.service));
    let about_her = about(&before, &hers);
    for table in rows::tables_of_users(&world.service) {
        assert!(
            about_her.iter().any(|row| row.table == table),
            "let her leave a row in {table}, and see to it that it goes"
        );
    }
    assert!(about_her.iter().any(|row| row.table == "notifications"));
    let stays: Vec<Row> = before
        .iter()
        .filter(|row| !about_her.contains(row))
        .cloned()
        .collect();
    let data = other.data().await;

    let told = world.tell(&user_gone(GONE)).await;
    until_nothing_of_hers(&world.service, &hers).await;
    // The team's chat that she set is nobody's now, and waits for somebody to keep it.
    let mut left = lasting(rows::all(&world.service));
    left.retain(|row| row.table != "chat_integrations" || !row.text.contains("paused"));
    assert_eq!(left, stays);
    assert_eq!(other.data().await, data);
    assert_eq!(statuses(&world.service, 8).len(), others.len());

    // The note itself goes when nothing can come any more, and so do events that wait.
    world.service.clock.advance(SETTLED);
    until_closed(&world.service).await;
    let left = rows::all(&world.service);
    assert_eq!(about(&left, &hers), Vec::<&Row>::new());

    // Told again, nothing happens: what is there now would be somebody's mistake, but no old event's matter.
    her.set_zone("Europe/Paris").await;
    world
        .tell_as(told, world.service.time.now(), &user_gone(GONE))
        .await;
    world.settle().await;
    let left = lasting(rows::all(&world.service));
    let tables: Vec<_> = about(&left, &hers)
        .into_iter()
        .map(|row| row.table.as_str())
        .collect();
    assert_eq!(tables, ["user_settings", "user_sync"]);
    // The team's project that she made goes on.
    let on_team = json!({"category": "coding", "duration": 25, "project_id": team_project_of(&hers, &before)});
    other.start(on_team).await;
    world.stop().await;
}

/// The project of her second session.
fn team_project_of(sessions: &[String], rows: &[Row]) -> String {
    let row = rows
        .iter()
        .find(|row| row.table == "sessions" && row.text.contains(&sessions[1]));
    let mut columns = row.unwrap().text.split('|');
    columns
        .find(|text| text.starts_with("team_"))
        .unwrap()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_late_request_of_hers_writes_goes_too() {
    let world = World::start().await;
    let her = Person::member(&world.service, GONE);
    world.tell(&user_gone(GONE)).await;
    let noted = "SELECT count(*) AS number FROM departures WHERE due_at > noted_at";
    wait_until("the first look", PATIENCE, async || {
        (rows::count(&world.service, noted) == 1).then_some(())
    })
    .await;
    // What the identity service said a moment ago let these in.
    her.work("coding", 1).await;
    her.set_zone("Europe/Berlin").await;
    her.post("/api/projects", json!({"name": "Diary"}))
        .await
        .expect(201);
    her.start_coding().await;
    assert_eq!(rows::count(&world.service, &sessions_of(GONE)), 2);
    world.service.clock.advance(SETTLED);
    until_closed(&world.service).await;
    let left = rows::all(&world.service);
    assert_eq!(about(&left, &[]), Vec::<&Row>::new());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_sessions_go_in_steps_while_others_work() {
    let world = World::start().await;
    let other = Person::member(&world.service, 8);
    rows::give_history(&world.service, GONE, 4_500);
    rows::give_history(&world.service, 8, 50);
    let busy = async {
        for _ in 0..20 {
            other.work("coding", 1).await;
        }
    };
    let gone = user_gone(GONE);
    tokio::join!(world.tell(&gone), busy);
    until_nothing_of_hers(&world.service, &[]).await;
    assert_eq!(rows::count(&world.service, &sessions_of(8)), 70);
    for (table, of_eight) in [("notifications", 50), ("session_flags", 50)] {
        let sql =
            format!("SELECT count(*) AS number FROM {table} WHERE session_id LIKE 'history-8-%'");
        assert_eq!(rows::count(&world.service, &sql), of_eight, "{table}");
    }
    assert_eq!(other.data().await["session_stats"]["total_minutes"], 20);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_of_sessions_while_they_go_is_not_left_behind() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let world = World::start().await;
    // The word first and then the deletion, each as far as it gets, and the other way round.
    for (gone, word_first) in [(GONE, true), (8, false)] {
        let started = Person::member(&world.service, gone).start_coding().await;
        let word = NotificationDelivered {
            notification: Notification {
                about: "session.started.v1".to_owned(),
                also: Vec::new(),
                event_id: Uuid::now_v7(),
                session_id: started["session_id"].as_str().unwrap().parse().unwrap(),
                project_id: None,
                at: DateTime::UNIX_EPOCH,
            },
        };
        let id = if word_first {
            let slow = "LOCK TABLE notifications IN SHARE ROW EXCLUSIVE MODE";
            let slow = Open::begin(&world.service, slow);
            let id = world.tell(&word).await;
            until_waiting(&world.service, 1).await;
            world.tell(&user_gone(gone)).await;
            until_waiting(&world.service, 2).await;
            slow.commit();
            id
        } else {
            let slow = "LOCK TABLE session_flags IN SHARE ROW EXCLUSIVE MODE";
            let slow = Open::begin(&world.service, slow);
            world.tell(&user_gone(gone)).await;
            until_waiting(&world.service, 1).await;
            let id = world.tell(&word).await;
            until_waiting(&world.service, 2).await;
            slow.commit();
            id
        };
        world.taken_in(id).await;
        wait_until("the sessions to go", PATIENCE, async || {
            (rows::count(&world.service, &sessions_of(gone)) == 0).then_some(())
        })
        .await;
        let left = "SELECT count(*) AS number FROM notifications";
        assert_eq!(rows::count(&world.service, left), 0, "{word_first}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_was_cut_off_goes_on_at_the_next_start() {
    let mut world = World::start().await;
    rows::give_history(&world.service, GONE, 2_300);
    Person::member(&world.service, GONE)
        .set_zone("Europe/Berlin")
        .await;
    // Its last step cannot be done now, and is done as a whole or not at all.
    rows::execute(
        &world.service,
        "ALTER TABLE user_settings RENAME TO out_of_reach",
    );
    world.tell(&user_gone(GONE)).await;
    // A thousand rows a step: all sessions and 1,700 categories.
    let categories = "SELECT count(*) AS number FROM user_category";
    wait_until("the first steps", PATIENCE, async || {
        (rows::count(&world.service, categories) == 600).then_some(())
    })
    .await;
    world
        .service
        .restart(async |service| {
            assert_eq!(rows::count(service, &sessions_of(GONE)), 0);
            assert_eq!(rows::count(service, categories), 600);
            rows::execute(service, "ALTER TABLE out_of_reach RENAME TO user_settings");
        })
        .await;
    until_nothing_of_hers(&world.service, &[]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_about_her_that_nobody_took_are_not_sent_any_more() {
    // No notifier: events wait.
    let (service, _stub) = Service::with_stub(0).await;
    let (her, other) = (Person::member(&service, GONE), Person::member(&service, 8));
    her.start_coding().await;
    let body =
        json!({"category": "coding", "duration": 25, "note": format!("\"user\":{{\"id\":{GONE},")});
    other.start(body).await;
    let waiting = || {
        let rows = rows::all(&service).into_iter();
        let events = rows.filter(|row| row.table == "outbox");
        events.map(|row| row.text).collect::<Vec<_>>()
    };
    assert_eq!(waiting().len(), 2);
    note_gone(&service);
    wait_until("her event to go", PATIENCE, async || {
        (waiting().len() == 1).then_some(())
    })
    .await;
    assert!(waiting()[0].contains("person8"), "{:?}", waiting());
    service.stop().await;
}

/// As the consumer does; the eraser finds it at its next tick.
fn note_gone(service: &Service) {
    rows::execute(
        service,
        &format!(
            "INSERT INTO departures (kind, id, noted_at, due_at) \
             VALUES ('user', {GONE}, '2026-11-23 09:00:00', '2026-11-23 09:00:00')"
        ),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_that_meets_the_deletion_is_settled_or_finds_no_session() {
    let world = World::start().await;
    let her = Person::member(&world.service, GONE);
    let started = her.start_coding().await;
    world.service.clock.advance(TimeDelta::minutes(25));
    let submits = (0..8).map(|n| {
        let submit = changed(
            honest(&started, &world.service),
            &json!({"note": format!("try {n}")}),
        );
        her.submit(submit)
    });
    let gone = user_gone(GONE);
    let (replies, _) = tokio::join!(futures_util::future::join_all(submits), world.tell(&gone));
    for reply in replies {
        let known: [(u16, Option<Value>); 3] = [
            (200, None),
            (404, Some(json!({"error": "Session not found"}))),
            (409, Some(json!({"error": "Session already submitted"}))),
        ];
        assert!(
            known.iter().any(|(status, body)| reply.status == *status
                && body.as_ref().is_none_or(|body| reply.json() == *body)),
            "{reply:?}"
        );
    }
    // A submit that lost may have counted a change just after the first look: the second one finds that.
    world.service.clock.advance(SETTLED);
    until_closed(&world.service).await;
    until_nothing_of_hers(&world.service, &[]).await;
    world.stop().await;
}

/// Publishes an event that the identity area did not send, and waits until the service has made up its mind.
async fn forge<T: EventData>(world: &World, data: &T) {
    let asked = world.stub.existence_asked();
    let outcome = publish(world, Uuid::now_v7(), data).await;
    let in_memory = matches!(&outcome, Outcome::Parked(reason) if reason.starts_with("forged"));
    assert!(in_memory || outcome == Outcome::Confirmed, "{outcome:?}");
    world.stub.until_existence_asked(asked + 1).await;
}

async fn publish<T: EventData>(world: &World, id: Uuid, data: &T) -> Outcome {
    let event = Event::new(id, "identity-service", world.service.time.now(), None, data);
    let body = event.unwrap().encode().unwrap().into_bytes();
    world.publish(id, T::TYPE, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_event_takes_nothing_from_whoever_the_identity_service_says_is_there() {
    let world = World::start().await;
    let her = Person::member(&world.service, GONE);
    live(&world, &her).await;
    world.settle().await;
    let before = lasting(rows::all(&world.service));
    world.stub.is_there(Some(GONE), None, None);
    world.stub.is_there(None, Some(3), None);

    forge(&world, &user_gone(GONE)).await;
    forge(&world, &team_changed(3, "Engines", true)).await;
    world.settle().await;
    let departures = "SELECT count(*) AS number FROM departures";
    assert_eq!(rows::count(&world.service, departures), 0);
    assert_eq!(lasting(rows::all(&world.service)), before);
    if TestBackend::current() == TestBackend::Postgres {
        wait_until("the forged ones to be parked", PATIENCE, async || {
            (world.parked().await == 2).then_some(())
        })
        .await;
    }
    world.stop().await;
}

/// RabbitMQ lets a message go by further keys that it does not check.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_under_the_key_of_another_is_forged() {
    let world = World::start().await;
    let her = Person::member(&world.service, GONE);
    live(&world, &her).await;
    world.settle().await;
    let before = lasting(rows::all(&world.service));
    let id = Uuid::now_v7();
    let (at, gone) = (world.service.time.now(), user_gone(GONE));
    let event = Event::new(id, "identity-service", at, None, &gone).unwrap();
    let body = event.encode().unwrap().into_bytes();
    let outcome = world.publish(id, "identity.team_changed.v1", body).await;
    let in_memory = matches!(&outcome, Outcome::Parked(reason) if reason.starts_with("forged"));
    assert!(in_memory || outcome == Outcome::Confirmed, "{outcome:?}");
    world.settle().await;
    assert_eq!(world.stub.existence_asked(), 0);
    assert_eq!(lasting(rows::all(&world.service)), before);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_waits_for_the_identity_service() {
    let world = World::start().await;
    let her = Person::member(&world.service, GONE);
    let hers = live(&world, &her).await;
    world.stub.is_away.store(true, Ordering::SeqCst);
    let id = Uuid::now_v7();
    publish(&world, id, &user_gone(GONE)).await;
    world.stub.until_existence_asked(1).await;
    world.settle().await;
    assert!(!about(&lasting(rows::all(&world.service)), &hers).is_empty());
    world.stub.is_away.store(false, Ordering::SeqCst);
    // The broker in memory keeps nothing: its sender does.
    publish(&world, id, &user_gone(GONE)).await;
    until_nothing_of_hers(&world.service, &hers).await;
    world.stop().await;
}
