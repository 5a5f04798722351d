//! Makes the requests that clients make all day, on a database in which reading every row would be slow.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use broker::{Acknowledgement, Broker, ConsumeOptions, Message, PublishOutcome, Queue};
use chrono::TimeDelta;
use event_types::{Event, EventData, Exchange, Notification, NotificationDelivered};
use serde_json::{Value, json};
use test_kit::wait_until;
use uuid::Uuid;

use crate::caller::{Caller, changed, honest};
use crate::database::execute;
use crate::explain::{Finding, Statement, TABLES, findings};
use crate::fake_identity::FakeIdentity;
use crate::filled_database;
use crate::service_fixture::Service;
use crate::statement_recorder;

/// The accepted scans: the table or index, words of the statement, and the reason.
const ALLOWED: [(&str, &str, &str); 6] = [
    (
        "outbox by outbox_waiting",
        "",
        "it holds only what is to be sent",
    ),
    (
        "outbox",
        "COUNT(*)",
        "counted once in five seconds for the metrics; what was sent is no longer in the table",
    ),
    (
        "webhooks by webhooks_deleted",
        "",
        "it holds only what is to be deleted",
    ),
    (
        "sessions by sessions_open",
        "expected_end_at <= $1",
        "the sweeper reads the open sessions once a minute; an index by the planned end would make each start slower",
    ),
    (
        "user_settings by user_settings_pkey",
        "leaderboard_opt_in",
        "the global leaderboard is read whole, and with it the settings of its users",
    ),
    (
        "user_settings",
        "leaderboard_opt_in",
        "the same, if that reads less",
    ),
];

/// The statements of all steps, one of each key.
#[derive(Default)]
struct Recording {
    statements: BTreeMap<(String, Vec<bool>), Statement>,
}

impl Recording {
    /// Ends a step, and checks that its statements named these tables.
    fn finish_step(&mut self, step: &str, tables: &[&str]) {
        let recorded = statement_recorder::take();
        let statements = recorded.iter().filter_map(|text| Statement::parse(text));
        let statements: Vec<Statement> = statements.collect();
        let seen: BTreeSet<&str> = statements.iter().flat_map(Statement::tables).collect();
        for table in tables {
            assert!(
                seen.contains(table),
                "{step} does not use {table}, but {seen:?}"
            );
        }
        let keyed = statements.into_iter().map(|one| (one.key(), one));
        self.statements.extend(keyed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frequent_requests_use_indexes() {
    statement_recorder::install();
    let broker = Broker::memory();
    let identity_url = format!("http://{}", FakeIdentity::default().start("127.0.0.1:0"));
    let service = Service::with(json!({"identity_url": identity_url}), broker.clone()).await;
    // A notifier that acknowledges everything.
    let [_chat, _webhooks] = [Queue::NotifyChat, Queue::NotifyWebhooks].map(|queue| {
        broker.consume(queue, ConsumeOptions::default(), |_| async {
            Acknowledgement::Ack
        })
    });
    let ada = Caller::member(&service, 7);
    let project = ada.team_project().await;
    let webhook = ada
        .post("/api/webhooks", json!({"url": "https://hooks.example/"}))
        .await;
    let webhook = webhook.expect(201).json()["webhook"]["id"].clone();
    filled_database::fill(&service);
    // PostgreSQL analyses a table by itself after many changes; SQLite never does.
    let is_postgres = service.database.url().starts_with("postgres");
    if is_postgres {
        execute(&service, "ANALYZE");
    }
    statement_recorder::start(service.database.url());
    let mut recording = Recording::default();
    read_endpoints(&ada, &mut recording).await;
    write_sessions(&ada, &project, &mut recording).await;
    report_delivery(&ada, &project, &broker, &mut recording).await;
    read_team(&ada, &project, &webhook, &mut recording).await;
    abandon_session(&ada, &mut recording).await;
    statement_recorder::stop();

    let mut found = unexpected_findings(&service, &recording);
    if !is_postgres {
        // An operator may have run ANALYZE.
        execute(&service, "ANALYZE");
        found.extend(unexpected_findings(&service, &recording));
    }
    let statements = recording.statements.values();
    let seen: BTreeSet<&str> = statements.flat_map(Statement::tables).collect();
    assert_eq!(seen, TABLES.into_iter().collect(), "some are never used");
    for finding in &found {
        eprintln!("{}\n{}\n{}\n", finding.what, finding.sql, finding.plan);
    }
    assert!(found.is_empty(), "{} places", found.len());
    service.stop().await;
}

fn unexpected_findings(service: &Service, recording: &Recording) -> Vec<Finding> {
    let pool = service.database.pool(1);
    let statements = recording.statements.values();
    let all = statements.flat_map(|statement| findings(&pool, statement));
    all.filter(|found| {
        let allowed = |(what, words, _): &(&str, &str, &str)| {
            found.what == *what && found.sql.contains(words)
        };
        !ALLOWED.iter().any(allowed)
    })
    .collect()
}

/// Calls the endpoints that only read.
async fn read_endpoints(ada: &Caller<'_>, recording: &mut Recording) {
    ada.data().await;
    recording.finish_step(
        "user/data",
        &["user_totals", "user_day", "user_badges", "user_settings"],
    );
    for period in ["day", "week", "month", "all"] {
        for of in ["", "&team=engines"] {
            let path = format!("/api/leaderboard?period={period}{of}");
            ada.get(&path).await.expect(200);
            recording.finish_step(&path, &["board"]);
        }
    }
    for group in ["day", "week", "hour", "category", "project"] {
        let path = format!("/api/analytics/tracking?from=2025-11-24&to=2026-11-23&group={group}");
        ada.get(&path).await.expect(200);
        let days: &[&str] = match group {
            "day" | "week" => &[],
            _ => &["user_day"],
        };
        recording.finish_step(&path, &[&["user_month"], days].concat());
    }
    let changes = ada.get("/api/sync/status").await.expect(200).json();
    recording.finish_step(
        "sync/status",
        &["user_sync", "sessions", "projects", "user_settings"],
    );
    assert!(!changes["changes"].as_array().unwrap().is_empty());
    let cursor = changes["cursor"].as_str().unwrap();
    let path = format!("/api/sync/status?since={cursor}");
    ada.get(&path).await.expect(200);
    recording.finish_step("sync/status since", &["user_sync", "sessions"]);

    let page = ada.get("/api/sessions").await.expect(200).json();
    recording.finish_step("sessions", &["sessions", "session_flags"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    for query in [
        format!("cursor={cursor}"),
        "from=2026-01-01&to=2026-02-01".to_owned(),
        "category=coding".to_owned(),
        "tag=deep".to_owned(),
        "project_id=none".to_owned(),
        "status=completed".to_owned(),
        "status=running,awaiting_submit".to_owned(),
        format!("category=coding&limit=200&cursor={cursor}"),
    ] {
        ada.get(&format!("/api/sessions?{query}")).await.expect(200);
        recording.finish_step(&query, &["sessions"]);
    }
}

/// A day's work: a start that ends another session, repeated starts and submits, a submit without an id, an edit.
async fn write_sessions(ada: &Caller<'_>, project: &str, recording: &mut Recording) {
    let service = ada.service;
    let plan = json!({"category": "coding", "duration": 25, "note": "the plan"});
    let on_project = changed(plan.clone(), &json!({"project_id": project}));
    ada.start(on_project).await;
    recording.finish_step(
        "start on a project",
        &["sessions", "user_sync", "outbox", "team_projects"],
    );
    service.clock.advance(TimeDelta::minutes(30));
    for status in [201, 200] {
        let start = service.api.post("/api/session/start").bearer(&ada.token);
        let start = start.header("idempotency-key", "once").json(plan.clone());
        start.send().await.expect(status);
        recording.finish_step("start with a key", &["sessions"]);
    }
    // Before a start is refused, it is looked up as a repeated one.
    let nowhere = changed(plan.clone(), &json!({"project_id": "personal_999999"}));
    let start = service.api.post("/api/session/start").bearer(&ada.token);
    let start = start.header("idempotency-key", "twice").json(nowhere);
    start.send().await.expect(404);
    recording.finish_step("a start on no project", &["projects", "sessions"]);
    let started = ada
        .start(changed(plan, &json!({"category": "writing"})))
        .await;
    let id = started["session_id"].as_str().unwrap();
    ada.get(&format!("/api/get_presession/{id}"))
        .await
        .expect(200);
    recording.finish_step("get_presession", &["sessions"]);

    service.clock.advance(TimeDelta::minutes(25));
    let rollups = [
        "sessions",
        "user_totals",
        "user_day",
        "user_month",
        "user_hour",
        "user_category",
        "user_badges",
        "user_sync",
        "board",
        "outbox",
    ];
    let cheat = changed(honest(&started, service), &json!({"category": "study"}));
    ada.submit(cheat).await.expect(422);
    recording.finish_step(
        "a submit that changes the plan",
        &["sessions", "session_flags"],
    );
    let submit = honest(&started, service);
    ada.submit(submit.clone()).await.expect(200);
    recording.finish_step("submit", &rollups);
    ada.submit(submit).await.expect(200);
    recording.finish_step("submit again", &["sessions"]);
    let unnamed = json!({
        "session_id": null, "category": "coding", "start_time": "2026-11-23T09:30:00Z", "end_time": "2026-11-23T09:55:00Z",
    });
    let second = changed(honest(&started, service), &unnamed);
    ada.submit(second).await.expect(200);
    // Its times differ from the timer's, which keeps it off the leaderboards.
    let off_boards: Vec<_> = rollups.into_iter().filter(|it| *it != "board").collect();
    recording.finish_step("a submit without the session's name", &off_boards);

    let path = format!("/api/sessions/{id}");
    ada.get(&path).await.expect(200);
    recording.finish_step("a session", &["sessions", "session_flags"]);
    let patch = service
        .api
        .call("PATCH".parse().unwrap(), &path)
        .bearer(&ada.token);
    let body = json!({"note": "better", "quality_rating": 4, "tags": ["deep"]});
    patch.json(body).send().await.expect(200);
    recording.finish_step("an edit", &["sessions", "user_sync"]);
}

/// Reports, as the notifier, that the first start was delivered to the chat.
async fn report_delivery(
    ada: &Caller<'_>,
    project: &str,
    broker: &Broker,
    recording: &mut Recording,
) {
    let path = format!(
        "/api/team-projects/{}/activity",
        project.trim_start_matches("team_")
    );
    let first = ada.get(&path).await.expect(200).json()["activity"][0].clone();
    let at = ada.service.time.now();
    let data = NotificationDelivered {
        notification: Notification {
            about: "session.started.v1".to_owned(),
            also: Vec::new(),
            event_id: Uuid::now_v7(),
            session_id: first["session_id"].as_str().unwrap().parse().unwrap(),
            project_id: project.trim_start_matches("team_").parse().ok(),
            at,
        },
    };
    let id = Uuid::now_v7();
    let event = Event::new(id, "notifier", at, None, &data).unwrap();
    let message = Message {
        exchange: Exchange::Public,
        routing_key: NotificationDelivered::TYPE.to_owned(),
        id,
        body: event.encode().unwrap().into_bytes().into(),
        has_subscriber: false,
    };
    // The memory broker confirms after the consumer has committed.
    let outcome = broker.publisher().publish(message).await;
    assert_eq!(outcome, PublishOutcome::Confirmed);
    recording.finish_step(
        "an outcome from the notifier",
        &["notifications", "sessions", "inbox"],
    );
}

/// Reads the team's activity and the delivery log of a webhook.
async fn read_team(ada: &Caller<'_>, project: &str, webhook: &Value, recording: &mut Recording) {
    ada.get("/api/team-projects").await.expect(200);
    recording.finish_step("team-projects", &["team_projects"]);
    ada.get("/api/all-projects").await.expect(200);
    recording.finish_step("all-projects", &["team_projects", "projects"]);
    let id = project.trim_start_matches("team_");
    let path = format!("/api/team-projects/{id}/activity");
    let page = ada.get(&path).await.expect(200).json();
    recording.finish_step("activity", &["sessions", "notifications"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    ada.get(&format!("{path}?cursor={cursor}"))
        .await
        .expect(200);
    recording.finish_step("activity, the second page", &["sessions", "notifications"]);

    ada.get("/api/team-activity?team=engines").await.expect(200);
    recording.finish_step("team-activity", &["sessions", "team_projects"]);

    let path = format!("/api/webhooks/{webhook}/deliveries");
    // The service makes deliveries from its own session events; they stay pending, since no notifier reports on them.
    let page = wait_until("the webhook's log", Duration::from_secs(10), async || {
        let page = ada.get(&path).await.expect(200).json();
        let pending = |call: &Value| call["state"] == "pending";
        let all = page["deliveries"].as_array().unwrap();
        all.iter().any(pending).then_some(page)
    });
    let page = page.await;
    recording.finish_step("deliveries", &["webhook_deliveries", "webhooks"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    ada.get(&format!("{path}?cursor={cursor}"))
        .await
        .expect(200);
    recording.finish_step("deliveries, the second page", &["webhook_deliveries"]);
}

/// Lets the sweeper abandon a session that nobody submits.
async fn abandon_session(ada: &Caller<'_>, recording: &mut Recording) {
    let started = ada.start_coding().await;
    recording.finish_step("the last start", &["sessions"]);
    ada.service.clock.advance(TimeDelta::hours(13));
    let path = format!("/api/sessions/{}", started["session_id"].as_str().unwrap());
    wait_until("the sweeper", Duration::from_secs(20), async || {
        let session = ada.get(&path).await.expect(200).json()["session"].clone();
        (session["status"] == "abandoned").then_some(())
    })
    .await;
    recording.finish_step("the sweeper", &["sessions", "user_sync", "outbox"]);
}
