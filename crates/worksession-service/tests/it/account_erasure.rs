//! Deleted accounts leave nothing behind.

use std::sync::atomic::Ordering;

use broker::PublishOutcome;
use chrono::{DateTime, TimeDelta};
use event_types::{Event, EventData, Notification, NotificationDelivered};
use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::{TestBackend, wait_until};
use uuid::Uuid;

use crate::broker_fixture::{TIMEOUT, World, team_changed, user_deleted};
use crate::caller::{Caller, changed, honest, statuses};
use crate::database::{self, Row};
use crate::fake_notifier::CHAT_URL;
use crate::open_transaction::{OpenTransaction, until_lock_waits};
use crate::service_fixture::Service;

/// The id of the deleted user, which no other value contains.
const DELETED: i64 = 7_340_034;
/// After this time, no request of the deleted user runs.
const LAST_REQUEST_ENDS: TimeDelta = TimeDelta::minutes(3);

fn count_sessions(service: &Service, user: i64) -> i64 {
    let sql = format!("SELECT count(*) AS number FROM sessions WHERE user_id = {user}");
    database::count(service, &sql)
}

/// Returns the rows with the id of the deleted user or of one of their sessions.
fn rows_about<'a>(rows: &'a [Row], sessions: &[String]) -> Vec<&'a Row> {
    let id = DELETED.to_string();
    let is_about = |row: &&Row| {
        row.text.contains(&id) || sessions.iter().any(|session| row.text.contains(session))
    };
    rows.iter().filter(is_about).collect()
}

/// Removes the rows that only track work in progress.
fn without_queues(rows: Vec<Row>) -> Vec<Row> {
    let temporary = ["inbox", "outbox", "outbox_leases", "teams", "departures"];
    rows.into_iter()
        .filter(|row| !temporary.contains(&row.table.as_str()))
        .collect()
}

async fn until_erasure_ends(service: &Service) {
    wait_until("the erasure to end", TIMEOUT, async || {
        (database::count(service, "SELECT count(*) AS number FROM departures") == 0).then_some(())
    })
    .await;
}

async fn until_erased(service: &Service, sessions: &[String]) {
    wait_until("the rows to be erased", TIMEOUT, async || {
        let rows = without_queues(database::all_rows(service));
        rows_about(&rows, sessions).is_empty().then_some(())
    })
    .await;
}

/// Does everything that leaves a row; returns the ids of the sessions.
async fn fill_every_table(world: &World, caller: &Caller<'_>) -> Vec<String> {
    caller.set_zone("Europe/Berlin").await;
    let project = caller
        .post("/api/projects", json!({"name": "Diary"}))
        .await
        .expect(201)
        .json();
    let personal = format!("personal_{}", project["project"]["id"]);
    let team = caller.team_project().await;
    let mut sessions = Vec::new();
    for project in [personal.as_str(), &team, "none"] {
        let plan = json!({"category": "coding", "duration": 25, "project_id": project});
        let started = caller.start(plan).await;
        world.service.clock.advance(TimeDelta::minutes(25));
        let submit = honest(&started, &world.service);
        let other = changed(submit.clone(), &json!({"category": "study"}));
        caller.submit(other).await.expect(422);
        caller.submit(submit).await.expect(200);
        sessions.push(started["session_id"].as_str().unwrap().to_owned());
    }
    let keyed = world
        .service
        .api
        .post("/api/session/start")
        .bearer(&caller.token);
    let keyed = keyed
        .header("idempotency-key", "one")
        .json(json!({"category": "coding", "duration": 25}));
    let running = keyed.send().await.expect(201).json();
    sessions.push(running["session_id"].as_str().unwrap().to_owned());
    for session in &sessions {
        report_delivery(world, session).await;
    }
    // Subscribed to an event that does not happen: deliveries about others are not the subject here.
    let webhook = json!({"url": "https://hooks.example/x", "events": ["session.abandoned.v1"]});
    let verified = caller.token.replace("member", "verified");
    let service = caller.service;
    let reachable = Caller {
        service,
        token: verified,
    };
    let made = reachable
        .post("/api/webhooks", webhook)
        .await
        .expect(201)
        .json();
    let test = format!("/api/webhooks/{}/test", made["webhook"]["id"]);
    caller.post(&test, json!({})).await.expect(202);
    let chat = format!(
        "/api/team-projects/{}/chat",
        team.trim_start_matches("team_")
    );
    let slack = json!({"provider": "slack", "webhook_url": CHAT_URL});
    caller.put(&chat, slack).await.expect(200);
    sessions
}

/// Reports, as the notifier, that the chat got the message about the session.
async fn report_delivery(world: &World, session: &str) {
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
    world.publish(&data).await;
    let sql =
        format!("SELECT count(*) AS number FROM notifications WHERE session_id = '{session}'");
    wait_until("the notification", TIMEOUT, async || {
        (database::count(&world.service, &sql) == 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_table_keeps_anything_of_a_deleted_user_and_others_lose_nothing() {
    let world = World::start().await;
    let (ada, other) = (
        Caller::member(&world.service, DELETED),
        Caller::member(&world.service, 8),
    );
    let other_sessions = fill_every_table(&world, &other).await;
    let own_sessions = fill_every_table(&world, &ada).await;
    let before = without_queues(database::all_rows(&world.service));
    let about_deleted = rows_about(&before, &own_sessions);
    for table in database::tables_with_users(&world.service) {
        assert!(
            about_deleted.iter().any(|row| row.table == table),
            "fill_every_table must leave a row in {table}, and the erasure must delete it"
        );
    }
    assert!(about_deleted.iter().any(|row| row.table == "notifications"));
    let stays: Vec<Row> = before
        .iter()
        .filter(|row| !about_deleted.contains(row))
        .cloned()
        .collect();
    let data = other.data().await;

    let event_id = world.publish(&user_deleted(DELETED)).await;
    until_erased(&world.service, &own_sessions).await;
    // The team chat that the user configured has no creator now; it is paused until a manager adopts it.
    let mut left = without_queues(database::all_rows(&world.service));
    left.retain(|row| row.table != "chat_integrations" || !row.text.contains("paused"));
    assert_eq!(left, stays);
    assert_eq!(other.data().await, data);
    assert_eq!(statuses(&world.service, 8).len(), other_sessions.len());

    // When no more requests can come, the row of the erasure itself goes, and so do unpublished events.
    world.service.clock.advance(LAST_REQUEST_ENDS);
    until_erasure_ends(&world.service).await;
    let left = database::all_rows(&world.service);
    assert_eq!(rows_about(&left, &own_sessions), Vec::<&Row>::new());

    // A redelivered event erases nothing: newer rows would be a mistake, but not one that an old event may correct.
    ada.set_zone("Europe/Paris").await;
    world
        .publish_at(event_id, world.service.time.now(), &user_deleted(DELETED))
        .await;
    world.until_all_consumed().await;
    let left = without_queues(database::all_rows(&world.service));
    let tables: Vec<_> = rows_about(&left, &own_sessions)
        .into_iter()
        .map(|row| row.table.as_str())
        .collect();
    assert_eq!(tables, ["user_settings", "user_sync"]);
    // The team project that the user created stays in use.
    let project = team_project_of(&own_sessions, &before);
    let on_team = json!({"category": "coding", "duration": 25, "project_id": project});
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
async fn rows_that_a_late_request_of_a_deleted_user_writes_are_erased_too() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, DELETED);
    world.publish(&user_deleted(DELETED)).await;
    let first_pass = "SELECT count(*) AS number FROM departures WHERE due_at > noted_at";
    wait_until("the first pass", TIMEOUT, async || {
        (database::count(&world.service, first_pass) == 1).then_some(())
    })
    .await;
    // A cached validation admits these requests.
    ada.work("coding", 1).await;
    ada.set_zone("Europe/Berlin").await;
    ada.post("/api/projects", json!({"name": "Diary"}))
        .await
        .expect(201);
    ada.start_coding().await;
    assert_eq!(count_sessions(&world.service, DELETED), 2);
    world.service.clock.advance(LAST_REQUEST_ENDS);
    until_erasure_ends(&world.service).await;
    let left = database::all_rows(&world.service);
    assert_eq!(rows_about(&left, &[]), Vec::<&Row>::new());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_sessions_are_erased_in_steps_while_others_work() {
    let world = World::start().await;
    let other = Caller::member(&world.service, 8);
    database::insert_history(&world.service, DELETED, 4_500);
    database::insert_history(&world.service, 8, 50);
    let busy = async {
        for _ in 0..20 {
            other.work("coding", 1).await;
        }
    };
    let gone = user_deleted(DELETED);
    tokio::join!(world.publish(&gone), busy);
    until_erased(&world.service, &[]).await;
    assert_eq!(count_sessions(&world.service, 8), 70);
    for (table, of_eight) in [("notifications", 50), ("session_flags", 50)] {
        let sql =
            format!("SELECT count(*) AS number FROM {table} WHERE session_id LIKE 'history-8-%'");
        assert_eq!(database::count(&world.service, &sql), of_eight, "{table}");
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
    for (gone, is_outcome_first) in [(DELETED, true), (8, false)] {
        let started = Caller::member(&world.service, gone).start_coding().await;
        let outcome = NotificationDelivered {
            notification: Notification {
                about: "session.started.v1".to_owned(),
                also: Vec::new(),
                event_id: Uuid::now_v7(),
                session_id: started["session_id"].as_str().unwrap().parse().unwrap(),
                project_id: None,
                at: DateTime::UNIX_EPOCH,
            },
        };
        let id = if is_outcome_first {
            let slow = "LOCK TABLE notifications IN SHARE ROW EXCLUSIVE MODE";
            let slow = OpenTransaction::begin(&world.service, slow);
            let id = world.publish(&outcome).await;
            until_lock_waits(&world.service, 1).await;
            world.publish(&user_deleted(gone)).await;
            until_lock_waits(&world.service, 2).await;
            slow.commit();
            id
        } else {
            let slow = "LOCK TABLE session_flags IN SHARE ROW EXCLUSIVE MODE";
            let slow = OpenTransaction::begin(&world.service, slow);
            world.publish(&user_deleted(gone)).await;
            until_lock_waits(&world.service, 1).await;
            let id = world.publish(&outcome).await;
            until_lock_waits(&world.service, 2).await;
            slow.commit();
            id
        };
        world.until_consumed(id).await;
        wait_until("the sessions to be erased", TIMEOUT, async || {
            (count_sessions(&world.service, gone) == 0).then_some(())
        })
        .await;
        let left = "SELECT count(*) AS number FROM notifications";
        assert_eq!(
            database::count(&world.service, left),
            0,
            "{is_outcome_first}"
        );
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_erasure_continues_at_the_next_start() {
    let mut world = World::start().await;
    database::insert_history(&world.service, DELETED, 2_300);
    Caller::member(&world.service, DELETED)
        .set_zone("Europe/Berlin")
        .await;
    // The last step cannot run now, and runs as a whole or not at all.
    database::execute(
        &world.service,
        "ALTER TABLE user_settings RENAME TO out_of_reach",
    );
    world.publish(&user_deleted(DELETED)).await;
    // A thousand rows per step: all sessions and 1,700 categories.
    let categories = "SELECT count(*) AS number FROM user_category";
    wait_until("the first steps", TIMEOUT, async || {
        (database::count(&world.service, categories) == 600).then_some(())
    })
    .await;
    world
        .service
        .restart(async |service| {
            assert_eq!(count_sessions(service, DELETED), 0);
            assert_eq!(database::count(service, categories), 600);
            database::execute(service, "ALTER TABLE out_of_reach RENAME TO user_settings");
        })
        .await;
    until_erased(&world.service, &[]).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unpublished_events_about_a_deleted_user_are_deleted() {
    // Without a notifier, events stay in the outbox.
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, other) = (
        Caller::member(&service, DELETED),
        Caller::member(&service, 8),
    );
    ada.start_coding().await;
    let note = format!("\"user\":{{\"id\":{DELETED},");
    let body = json!({"category": "coding", "duration": 25, "note": note});
    other.start(body).await;
    let pending_events = || {
        let rows = database::all_rows(&service).into_iter();
        let events = rows.filter(|row| row.table == "outbox");
        events.map(|row| row.text).collect::<Vec<_>>()
    };
    assert_eq!(pending_events().len(), 2);
    insert_erasure(&service);
    wait_until("the event to be deleted", TIMEOUT, async || {
        (pending_events().len() == 1).then_some(())
    })
    .await;
    let left = pending_events();
    assert!(left[0].contains("person8"), "{left:?}");
    service.stop().await;
}

/// Inserts what the consumer inserts; the eraser finds it at its next tick.
fn insert_erasure(service: &Service) {
    database::execute(
        service,
        &format!(
            "INSERT INTO departures (kind, id, noted_at, due_at) \
             VALUES ('user', {DELETED}, '2026-11-23 09:00:00', '2026-11-23 09:00:00')"
        ),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submit_during_an_erasure_is_stored_or_finds_no_session() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, DELETED);
    let started = ada.start_coding().await;
    world.service.clock.advance(TimeDelta::minutes(25));
    let submits = (0..8).map(|n| {
        let submit = changed(
            honest(&started, &world.service),
            &json!({"note": format!("try {n}")}),
        );
        ada.submit(submit)
    });
    let gone = user_deleted(DELETED);
    let (replies, _) = tokio::join!(join_all(submits), world.publish(&gone));
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
    world.service.clock.advance(LAST_REQUEST_ENDS);
    until_erasure_ends(&world.service).await;
    until_erased(&world.service, &[]).await;
    world.stop().await;
}

/// Publishes an event that the identity service did not send, and waits for its existence check.
async fn publish_forged<T: EventData>(world: &World, data: &T) {
    let checks = world.identity.existence_check_count();
    let outcome = publish_unconfirmed(world, Uuid::now_v7(), data).await;
    let in_memory =
        matches!(&outcome, PublishOutcome::Unreadable(reason) if reason.starts_with("forged"));
    assert!(
        in_memory || outcome == PublishOutcome::Confirmed,
        "{outcome:?}"
    );
    world.identity.until_existence_checked(checks + 1).await;
}

async fn publish_unconfirmed<T: EventData>(world: &World, id: Uuid, data: &T) -> PublishOutcome {
    let event = Event::new(id, "identity-service", world.service.time.now(), None, data);
    let body = event.unwrap().encode().unwrap().into_bytes();
    world.publish_bytes(id, T::TYPE, body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_event_erases_nothing_that_still_exists() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, DELETED);
    fill_every_table(&world, &ada).await;
    world.until_all_consumed().await;
    let before = without_queues(database::all_rows(&world.service));
    world.identity.add_existing(Some(DELETED), None, None);
    world.identity.add_existing(None, Some(3), None);

    publish_forged(&world, &user_deleted(DELETED)).await;
    publish_forged(&world, &team_changed(3, "Engines", true)).await;
    world.until_all_consumed().await;
    let departures = "SELECT count(*) AS number FROM departures";
    assert_eq!(database::count(&world.service, departures), 0);
    assert_eq!(without_queues(database::all_rows(&world.service)), before);
    if TestBackend::current() == TestBackend::Postgres {
        wait_until(
            "the forged events to become dead letters",
            TIMEOUT,
            async || (world.dead_letter_count().await == 2).then_some(()),
        )
        .await;
    }
    world.stop().await;
}

/// RabbitMQ also routes a message by further keys, which it does not check.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_under_another_types_routing_key_counts_as_forged() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, DELETED);
    fill_every_table(&world, &ada).await;
    world.until_all_consumed().await;
    let before = without_queues(database::all_rows(&world.service));
    let id = Uuid::now_v7();
    let (at, gone) = (world.service.time.now(), user_deleted(DELETED));
    let event = Event::new(id, "identity-service", at, None, &gone).unwrap();
    let body = event.encode().unwrap().into_bytes();
    let outcome = world
        .publish_bytes(id, "identity.team_changed.v1", body)
        .await;
    let in_memory =
        matches!(&outcome, PublishOutcome::Unreadable(reason) if reason.starts_with("forged"));
    assert!(
        in_memory || outcome == PublishOutcome::Confirmed,
        "{outcome:?}"
    );
    world.until_all_consumed().await;
    assert_eq!(world.identity.existence_check_count(), 0);
    assert_eq!(without_queues(database::all_rows(&world.service)), before);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_the_identity_service() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, DELETED);
    let own_sessions = fill_every_table(&world, &ada).await;
    world.identity.is_down.store(true, Ordering::SeqCst);
    let id = Uuid::now_v7();
    publish_unconfirmed(&world, id, &user_deleted(DELETED)).await;
    world.identity.until_existence_checked(1).await;
    world.until_all_consumed().await;
    let rows = without_queues(database::all_rows(&world.service));
    assert!(!rows_about(&rows, &own_sessions).is_empty());
    world.identity.is_down.store(false, Ordering::SeqCst);
    // The memory broker stores nothing, so the sender publishes the event again.
    publish_unconfirmed(&world, id, &user_deleted(DELETED)).await;
    until_erased(&world.service, &own_sessions).await;
    world.stop().await;
}
