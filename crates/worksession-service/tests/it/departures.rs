//! Deleted accounts leave nothing behind.

use std::sync::atomic::Ordering;

use broker::PublishOutcome;
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

/// The id of the deleted user, which no other value contains.
const GONE: i64 = 7_340_034;
/// After this time, no request of the deleted user can still run.
const SETTLED: TimeDelta = TimeDelta::minutes(3);

fn sessions_of(user: i64) -> String {
    format!("SELECT count(*) AS number FROM sessions WHERE user_id = {user}")
}

/// Returns the rows about the deleted user: with their id, their name or one of their sessions.
fn about<'a>(rows: &'a [Row], sessions: &[String]) -> Vec<&'a Row> {
    let id = GONE.to_string();
    let is_hers = |row: &&Row| {
        row.text.contains(&id) || sessions.iter().any(|session| row.text.contains(session))
    };
    rows.iter().filter(is_hers).collect()
}

/// Drops the rows that only track work in progress.
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

/// Does everything that leaves a row; returns the ids of the sessions.
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
    // Subscribed to an event that does not happen: deliveries about others are not the subject here.
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

/// Reports, as the notifier, that the chat got the message about the session.
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
async fn nothing_of_a_deleted_user_remains_in_any_table_and_everything_of_others_does() {
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
            "live must leave a row in {table}, and the erasure must delete it"
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
    // The team chat that the user configured has no creator now; it is paused until a manager adopts it.
    let mut left = lasting(rows::all(&world.service));
    left.retain(|row| row.table != "chat_integrations" || !row.text.contains("paused"));
    assert_eq!(left, stays);
    assert_eq!(other.data().await, data);
    assert_eq!(statuses(&world.service, 8).len(), others.len());

    // When no more requests can come, the row of the erasure itself goes, and so do unpublished events.
    world.service.clock.advance(SETTLED);
    until_closed(&world.service).await;
    let left = rows::all(&world.service);
    assert_eq!(about(&left, &hers), Vec::<&Row>::new());

    // A redelivered event erases nothing: newer rows would be a mistake, but not one that an old event may correct.
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
    // The team project that the user created stays in use.
    let on_team = json!({"category": "coding", "duration": 25, "project_id": team_project_of(&hers, &before)});
    other.start(on_team).await;
    world.stop().await;
}

/// Returns the project of the second session.
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
async fn what_a_late_request_of_a_deleted_user_writes_is_erased_too() {
    let world = World::start().await;
    let her = Person::member(&world.service, GONE);
    world.tell(&user_gone(GONE)).await;
    let noted = "SELECT count(*) AS number FROM departures WHERE due_at > noted_at";
    wait_until("the first look", PATIENCE, async || {
        (rows::count(&world.service, noted) == 1).then_some(())
    })
    .await;
    // A validation from a moment ago admits these requests.
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
async fn thousands_of_sessions_are_erased_in_steps_while_others_work() {
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
async fn notifications_of_sessions_being_erased_are_erased_too() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let world = World::start().await;
    // First the outcome waits for a lock and the erasure comes second, then the other way round.
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
async fn an_interrupted_erasure_continues_at_the_next_start() {
    let mut world = World::start().await;
    rows::give_history(&world.service, GONE, 2_300);
    Person::member(&world.service, GONE)
        .set_zone("Europe/Berlin")
        .await;
    // The last step cannot run now, and runs as a whole or not at all.
    rows::execute(
        &world.service,
        "ALTER TABLE user_settings RENAME TO out_of_reach",
    );
    world.tell(&user_gone(GONE)).await;
    // A thousand rows per step: all sessions and 1,700 categories.
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
async fn unpublished_events_about_a_deleted_user_are_deleted() {
    // Without a notifier, events stay in the outbox.
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

/// Inserts what the consumer inserts; the eraser finds it at its next tick.
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
async fn a_submit_during_an_erasure_is_stored_or_finds_no_session() {
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
    // A losing submit may have counted a change just after the first pass; the second pass finds it.
    world.service.clock.advance(SETTLED);
    until_closed(&world.service).await;
    until_nothing_of_hers(&world.service, &[]).await;
    world.stop().await;
}

/// Publishes an event that the identity service did not send, and waits until the service has asked about it.
async fn forge<T: EventData>(world: &World, data: &T) {
    let asked = world.stub.existence_asked();
    let outcome = publish(world, Uuid::now_v7(), data).await;
    let in_memory =
        matches!(&outcome, PublishOutcome::Unreadable(reason) if reason.starts_with("forged"));
    assert!(
        in_memory || outcome == PublishOutcome::Confirmed,
        "{outcome:?}"
    );
    world.stub.until_existence_asked(asked + 1).await;
}

async fn publish<T: EventData>(world: &World, id: Uuid, data: &T) -> PublishOutcome {
    let event = Event::new(id, "identity-service", world.service.time.now(), None, data);
    let body = event.unwrap().encode().unwrap().into_bytes();
    world.publish(id, T::TYPE, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_event_erases_nothing_that_still_exists() {
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

/// RabbitMQ also routes a message by further keys, which it does not check.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_under_another_types_routing_key_counts_as_forged() {
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
    let in_memory =
        matches!(&outcome, PublishOutcome::Unreadable(reason) if reason.starts_with("forged"));
    assert!(
        in_memory || outcome == PublishOutcome::Confirmed,
        "{outcome:?}"
    );
    world.settle().await;
    assert_eq!(world.stub.existence_asked(), 0);
    assert_eq!(lasting(rows::all(&world.service)), before);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_the_identity_service() {
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
    // The memory broker stores nothing, so the sender publishes the event again.
    publish(&world, id, &user_gone(GONE)).await;
    until_nothing_of_hers(&world.service, &hers).await;
    world.stop().await;
}
