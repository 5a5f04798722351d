//! Renamed teams and deleted teams.

use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use event_types::{IntegrationConfigured, WebhookConfigured};
use serde_json::{Value, json};
use test_kit::wait_until;
use uuid::Uuid;

use crate::admin_command::admin_json;
use crate::broker_fixture::{TIMEOUT, World, team_changed};
use crate::caller::{Caller, honest};
use crate::database;
use crate::service_fixture::Service;
use crate::webhook_fixture::{create_webhook, path_of, request_test};

const CHAT_URL: &str = "https://chat.example/services/T0/B0/secret";

/// Creates a public project of the team Engines as Ada.
async fn public_project(service: &Service, name: &str) -> i64 {
    let call = service.api.post("/api/team-projects").bearer("user-");
    let made = call
        .json(json!({"team_id": 3, "name": name, "is_public": true}))
        .send()
        .await
        .expect(201);
    made.json()["id"].as_i64().unwrap()
}

/// Returns the project as an outsider sees it.
async fn get_project(service: &Service, project: i64) -> Value {
    let path = format!("/api/team-projects/{project}");
    let call = service.api.get(&path).bearer("outsider-9");
    call.send().await.expect(200).json()
}

async fn until_team_named(service: &Service, project: i64, name: &str) {
    wait_until("the new name", TIMEOUT, async || {
        (get_project(service, project).await["team_name"] == name).then_some(())
    })
    .await;
}

fn team_name_of(service: &Service, session: &Value, name: &str) -> bool {
    let sql = format!(
        "SELECT count(*) AS number FROM sessions WHERE session_id = {} AND team_name = '{name}'",
        session["session_id"].to_string().replace('"', "'")
    );
    database::count(service, &sql) == 1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_rename_is_applied_unless_a_newer_one_was_applied_before() {
    let world = World::start().await;
    let (service, caller) = (&world.service, Caller::member(&world.service, 8));
    let project = public_project(service, "Beacon").await;
    let plan =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    let done = caller.start(plan.clone()).await;
    service.clock.advance(TimeDelta::minutes(25));
    caller.submit(honest(&done, service)).await.expect(200);
    let open = caller.start(plan).await;

    let start = service.time.now();
    let at = |minute| start + TimeDelta::minutes(minute);
    let first = Uuid::now_v7();
    world
        .publish_at(first, at(1), &team_changed(3, "Motors", false))
        .await;
    until_team_named(service, project, "Motors").await;
    for session in [&open, &done] {
        assert!(team_name_of(service, session, "Engines"), "as it was then");
    }

    // The events are out of order: the second to arrive is the newest.
    world
        .publish_at(Uuid::now_v7(), at(3), &team_changed(3, "Turbines", false))
        .await;
    until_team_named(service, project, "Turbines").await;
    world
        .publish_at(Uuid::now_v7(), at(2), &team_changed(3, "Wheels", false))
        .await;
    // A redelivery of the first event.
    world
        .publish_at(first, at(9), &team_changed(3, "Motors", false))
        .await;
    // An event about another team.
    world
        .publish_at(Uuid::now_v7(), at(9), &team_changed(4, "Others", false))
        .await;
    world.until_all_consumed().await;
    assert_eq!(get_project(service, project).await["team_name"], "Turbines");
    assert!(team_name_of(service, &open, "Engines"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_renames_of_a_team_end_with_the_newest_name() {
    let world = World::start().await;
    let project = public_project(&world.service, "Beacon").await;
    let start = world.service.time.now();
    let renames = (0..24).map(|n: i64| {
        // In mixed order.
        let minute = (n * 7) % 24;
        let (at, name) = (start + TimeDelta::minutes(minute), format!("Name {minute}"));
        let change = team_changed(3, &name, false);
        let world = &world;
        async move { world.publish_at(Uuid::now_v7(), at, &change).await }
    });
    futures_util::future::join_all(renames).await;
    world.until_all_consumed().await;
    until_team_named(&world.service, project, "Name 23").await;
    let sql = "SELECT count(*) AS number FROM inbox";
    wait_until("all renames to be consumed", TIMEOUT, async || {
        (database::count(&world.service, sql) == 25).then_some(())
    })
    .await;
    assert_eq!(
        get_project(&world.service, project).await["team_name"],
        "Name 23"
    );
    world.stop().await;
}

fn removed_chat(
    configured: &Arc<Mutex<Vec<IntegrationConfigured>>>,
    project: i64,
) -> Option<IntegrationConfigured> {
    let configured = configured.lock().unwrap();
    configured
        .iter()
        .find(|one| one.project_id == project && one.sealed.is_none())
        .cloned()
}

async fn configure_chat(service: &Service, project: i64) {
    let path = format!("/api/team-projects/{project}/chat");
    let call = service.api.put(&path).bearer("user-");
    call.json(json!({"provider": "slack", "webhook_url": CHAT_URL}))
        .send()
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_projects_of_a_deleted_team_are_archived_and_their_chats_removed() {
    let world = World::start().await;
    let (service, caller) = (&world.service, Caller::member(&world.service, 8));
    let (consumer, configured) = world.consume_chats();
    let with_chat = public_project(service, "Beacon").await;
    let without_chat = public_project(service, "Lantern").await;
    configure_chat(service, with_chat).await;
    database::execute(
        service,
        "INSERT INTO team_projects (team_id, team_name, name, description, chat_channel, is_public, created_at, updated_at) \
         VALUES (4, 'Others', 'Theirs', '', '', true, '2026-11-23 09:00:00', '2026-11-23 09:00:00')",
    );
    let leaderboard_rows = "SELECT count(*) AS number FROM board WHERE scope = 3";
    database::execute(
        service,
        "INSERT INTO board (scope, period, start, user_id, username, points_centi, minutes, sessions, reached_at) \
         VALUES (3, 'all', '1970-01-01', 8, 'person8', 250, 25, 1, '2026-11-23 09:00:00')",
    );
    let plan = |project: i64| json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    let running = caller.start(plan(with_chat)).await;

    world
        .publish(&team_changed(3, "Engines of old", true))
        .await;
    wait_until("the chat to be removed", TIMEOUT, async || {
        removed_chat(&configured, with_chat)
    })
    .await;
    assert_eq!(removed_chat(&configured, with_chat).unwrap().revision, 2);
    assert_eq!(removed_chat(&configured, without_chat), None);
    assert_eq!(database::count(service, leaderboard_rows), 0);
    // Within ten seconds, the same start would return the running session.
    service.clock.advance(TimeDelta::seconds(10));
    for project in [with_chat, without_chat] {
        assert_eq!(
            get_project(service, project).await["team_name"],
            "Engines of old",
            "the name in the last event"
        );
        let refused = caller.post("/api/session/start", plan(project)).await;
        assert_eq!(
            refused.expect(409).json(),
            json!({"error": "Project is archived"})
        );
    }
    let path = format!("/api/team-projects/{with_chat}/chat");
    let chat = service.api.get(&path).bearer("user-").send().await;
    assert_eq!(
        chat.expect(200).json()["chat"],
        json!({"provider": null, "channel": "", "status": "off", "reason": null, "created_by": null, "client_id": null, "announce": [], "last_test": null})
    );
    let theirs =
        "SELECT count(*) AS number FROM team_projects WHERE team_id = 4 AND archived_at IS NULL";
    assert_eq!(database::count(service, theirs), 1);

    // The running session may finish.
    service
        .clock
        .advance(TimeDelta::minutes(25) - TimeDelta::seconds(10));
    let submitted = caller.submit(honest(&running, service)).await.expect(200);
    assert_eq!(submitted.json()["status"], "completed");
    assert_eq!(
        database::count(service, leaderboard_rows),
        0,
        "on no leaderboard of the team"
    );

    // No later event restores it.
    let later = service.time.now() + TimeDelta::hours(1);
    world
        .publish_at(Uuid::now_v7(), later, &team_changed(3, "Engines", false))
        .await;
    world.until_all_consumed().await;
    assert_eq!(
        get_project(service, with_chat).await["team_name"],
        "Engines of old"
    );
    assert_eq!(configured.lock().unwrap().len(), 2, "one on, one off");
    consumer.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn projects_that_a_late_request_creates_for_a_deleted_team_are_archived_too() {
    let world = World::start().await;
    let service = &world.service;
    let (consumer, configured) = world.consume_chats();
    world.publish(&team_changed(3, "Engines", true)).await;
    let sql = "SELECT count(*) AS number FROM departures WHERE due_at > noted_at";
    wait_until("the first pass", TIMEOUT, async || {
        (database::count(service, sql) == 1).then_some(())
    })
    .await;
    let late = public_project(service, "Afterthought").await;
    configure_chat(service, late).await;
    service.clock.advance(TimeDelta::minutes(3));
    wait_until("the last pass", TIMEOUT, async || {
        removed_chat(&configured, late)
    })
    .await;
    let left = "SELECT count(*) AS number FROM departures";
    assert_eq!(database::count(service, left), 0);
    let open = "SELECT count(*) AS number FROM team_projects WHERE archived_at IS NULL";
    assert_eq!(database::count(service, open), 0);
    consumer.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_teams_webhooks_are_deleted_and_no_others() {
    let world = World::start().await;
    let ada = Caller::member(&world.service, 7);
    let (own, _) = create_webhook(&ada, json!({"url": "https://hooks.example/x"})).await;
    let (team, _) = create_webhook(
        &ada,
        json!({"url": "https://hooks.example/x", "team_id": 3}),
    )
    .await;
    request_test(&ada, &team).await;
    request_test(&ada, &own).await;
    world.publish(&team_changed(3, "Engines", true)).await;
    let changes = world.received::<WebhookConfigured>(3).await;
    let gone = changes.iter().find(|one| one.sealed.is_none()).unwrap();
    assert_eq!(
        (json!(gone.webhook_id), gone.revision),
        (team["id"].clone(), 2)
    );
    wait_until("its rows to be deleted", TIMEOUT, async || {
        let webhooks = database::count(&world.service, "SELECT count(*) AS number FROM webhooks");
        let calls = "SELECT count(*) AS number FROM webhook_deliveries";
        ((webhooks, database::count(&world.service, calls)) == (1, 1)).then_some(())
    })
    .await;
    ada.get(&path_of(&own)).await.expect(200);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_team_is_deleted_rollups_stay_consistent_without_its_leaderboards() {
    let world = World::start().await;
    let (service, caller) = (&world.service, Caller::member(&world.service, 8));
    // The command uses the system clock, so the leaderboards must be of today.
    let now = service_kit::Clock::system().now();
    service.clock.set(now - TimeDelta::hours(2));
    let project = caller.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "project_id": project});
    let done = caller.start(plan.clone()).await;
    service.clock.advance(TimeDelta::minutes(25));
    caller.submit(honest(&done, service)).await.expect(200);
    let running = caller.start(plan).await;
    let leaderboard_rows = || {
        database::count(
            service,
            "SELECT count(*) AS number FROM board WHERE scope = 3",
        )
    };
    assert!(leaderboard_rows() > 0);
    world.publish(&team_changed(3, "Engines", true)).await;
    wait_until(
        "the team's leaderboards to be deleted",
        TIMEOUT,
        async || (leaderboard_rows() == 0).then_some(()),
    )
    .await;
    service.clock.advance(TimeDelta::minutes(25));
    caller.submit(honest(&running, service)).await.expect(200);

    let report = admin_json(service, &["rebuild-rollups", "--dry-run"]);
    assert_eq!(
        (&report["users"], &report["differed"]),
        (&json!(1), &json!(0)),
        "{report}"
    );
    admin_json(service, &["rebuild-rollups"]);
    assert_eq!(leaderboard_rows(), 0, "and a rebuild brings none back");
    world.stop().await;
}
