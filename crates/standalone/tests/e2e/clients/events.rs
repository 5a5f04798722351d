use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use broker::{Broker, BrokerUrl, Message, PublishOutcome};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use event_types::{Event, Exchange, RawEventData};
use serde_json::{Value, json};
use test_kit::{ApiRequest, ChatReply, FakeChat, TestBroker, wait_until};
use uuid::Uuid;

use super::tool;
use crate::site::{PASSWORD, Site};

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs pika and RabbitMQ: `cargo xtask e2e clients` runs it"]
async fn a_reconnecting_pika_consumer_gets_every_session_event_once() {
    let rabbit = TestBroker::rabbit();
    let site = Site::on(&rabbit);
    let token = site.register("mia").await;
    let folder = tempfile::tempdir().unwrap();
    let script = Script::start(&rabbit, folder.path());
    assert_eq!(
        script.line(),
        format!("Listening to {}consumer.sessions", rabbit.prefix())
    );

    let started = start(&site, &token, "writing").await;
    let id = started["session_id"].as_str().unwrap();
    assert_eq!(
        script.line(),
        format!("session.started.v1 {id} mia writing")
    );
    submit(&site, &token, &started).await;
    assert_eq!(
        script.line(),
        format!("session.submitted.v1 {id} mia writing")
    );

    // While the consumer is away, its queue keeps the events. It does not repeat what it has recorded as done; without the
    // record it would.
    noted(folder.path(), 2).await;
    drop(script);
    let missed = start(&site, &token, "coding").await;
    let (broker, repeated) = (connect(&rabbit).await, repeated());
    for _ in 0..2 {
        publish(&broker, &repeated).await;
    }
    let script = Script::start(&rabbit, folder.path());
    assert!(script.line().starts_with("Listening to"));
    let id = missed["session_id"].as_str().unwrap();
    let mut lines = [script.line(), script.line()];
    lines.sort_unstable();
    let expected = [
        format!("session.abandoned.v1 {} mia reading", Uuid::nil()),
        format!("session.started.v1 {id} mia coding"),
    ];
    assert_eq!(lines, expected);
    // A message that it cannot read does not block those after it.
    let mut unreadable = repeated.clone();
    unreadable.data = RawEventData::from_value(&json!({"session_id": Uuid::nil()})).unwrap();
    unreadable.id = Uuid::now_v7();
    publish(&broker, &unreadable).await;
    publish(&broker, &repeated).await;
    submit(&site, &token, &missed).await;
    assert_eq!(
        script.line(),
        format!("session.submitted.v1 {id} mia coding")
    );
    drop(script);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs jsonschema and RabbitMQ: `cargo xtask e2e clients` runs it"]
async fn every_published_event_matches_its_schema() {
    let rabbit = TestBroker::rabbit();
    let (site, chat) = (Site::on(&rabbit), FakeChat::start().await);
    let check = Script::check(&rabbit);
    assert_eq!(check.line(), "Listening");
    // The clock is the system's, so the sweeper abandons nothing.
    let mut expected: BTreeSet<String> = std::fs::read_dir(tool("EVENTS").join("schemas"))
        .unwrap()
        .map(|file| {
            file.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .filter(|name| name != "session.abandoned.v1")
        .collect();
    happen(&site, &chat).await;
    while !expected.is_empty() {
        let line = check.lines.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|_| panic!("{expected:?} did not come"));
        assert!(!line.contains(": "), "{line}");
        expected.remove(&line);
    }
}

/// Causes everything that can happen within a few seconds.
async fn happen(site: &Site, chat: &FakeChat) {
    let (mia, sam) = (site.register("mia").await, site.register("sam").await);
    let done = async |call: ApiRequest, status: u16| call.send().await.expect(status).json();
    let team = json!({"name": "Night shift", "slug": "night"});
    let team = site.api.post("/api/teams").bearer(&mia).json(team);
    let team = done(team, 201).await["team"]["id"].clone();
    let member = json!({"username": "sam"});
    let add = site.api.post("/api/teams/night/members").bearer(&mia);
    done(add.json(member), 201).await;
    let project = json!({"team_id": team, "name": "Lighthouse"});
    let project = site
        .sessions
        .post("/api/team-projects")
        .bearer(&mia)
        .json(project);
    let project = done(project, 201).await["id"].clone();
    let webhook = json!({"url": chat.hook("webhook")});
    let webhook = site
        .sessions
        .post("/api/webhooks")
        .bearer(&mia)
        .json(webhook);
    done(webhook, 201).await;
    // The same plan again would be the same session.
    let start_on_project = async |note: &str| {
        let plan = json!({
            "category": "coding", "duration": 1, "planning_note": note, "project_id": format!("team_{project}"),
        });
        let call = site
            .sessions
            .post("/api/session/start")
            .bearer(&mia)
            .json(plan);
        done(call, 201).await
    };
    let path = format!("/api/team-projects/{project}/chat");
    // First without a chat, then with one that accepts a message, refuses the next, and is then gone.
    let started = start(site, &sam, "writing").await;
    submit(site, &sam, &started).await;
    start_on_project("alone").await;
    let hook = json!({"provider": "slack", "webhook_url": chat.hook("chat")});
    let set = site.sessions.put(&path).bearer(&mia).json(hook);
    done(set, 200).await;
    let test = site.sessions.post(&format!("{path}/test")).bearer(&mia);
    done(test.json(json!({})), 202).await;
    let called = async || while chat.next_message().await.path != "/services/chat" {};
    called().await;
    for reply in [200, 400, 410] {
        chat.usually(ChatReply::Status(reply));
        start_on_project(&reply.to_string()).await;
        called().await;
    }
    let out = site.api.post("/api/auth/logout").bearer(&mia);
    out.json(json!({})).send().await.expect(200);
    let me = done(site.api.get("/api/auth/me").bearer(&sam), 200).await;
    let path = format!("/api/auth/user/{}", me["user"]["id"]);
    let gone = site.api.delete(&path).bearer(&sam);
    let gone = gone.json(json!({"password": PASSWORD})).send().await;
    gone.expect(204);
}

/// A program of the documents, killed when this is dropped.
struct Script {
    child: Child,
    lines: Receiver<String>,
}

impl Script {
    fn start(rabbit: &TestBroker, folder: &Path) -> Self {
        let mut python = Command::new(tool("EVENTS_PYTHON"));
        python
            .arg(tool("EVENTS").join("consume.py"))
            .env("QUEUE", format!("{}consumer.sessions", rabbit.prefix()))
            .env("DATABASE", folder.join("consumed.db"));
        Self::run(python, rabbit)
    }

    /// Runs the program that prints every event, and how it violates its schema.
    fn check(rabbit: &TestBroker) -> Self {
        let mut python = Command::new(tool("SCHEMAS_PYTHON"));
        python
            .arg(tool("SCHEMAS").join("check.py"))
            .env("SCHEMAS", tool("EVENTS").join("schemas"));
        Self::run(python, rabbit)
    }

    fn run(mut python: Command, rabbit: &TestBroker) -> Self {
        let mut child = python
            .env("AMQP", rabbit.url())
            .env("EXCHANGE", format!("{}work.events", rabbit.prefix()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// Returns the next line that it prints.
    fn line(&self) -> String {
        tokio::task::block_in_place(|| self.lines.recv_timeout(PATIENCE)).expect("a line")
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // The kill interrupts whatever it does.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

async fn start(site: &Site, token: &str, category: &str) -> Value {
    let plan = json!({"category": category, "duration": 1});
    let call = site
        .sessions
        .post("/api/session/start")
        .bearer(token)
        .json(plan);
    call.send().await.expect(201).json()
}

async fn submit(site: &Site, token: &str, started: &Value) {
    let body = json!({
        "session_id": started["session_id"], "category": started["presession"]["category"],
        "start_time": started["started_at"], "end_time": started["started_at"],
        "duration": 1, "project_id": "none", "note": "",
    });
    let call = site.sessions.post("/api/pomodoro/submit").bearer(token);
    call.json(body).send().await.expect(200);
}

/// Waits until the program has recorded so many events.
async fn noted(folder: &Path, events: i64) {
    let path = folder.join("consumed.db");
    let noted = async || {
        let mut database = SqliteConnection::establish(path.to_str().unwrap()).ok()?;
        let count = sql::<BigInt>("(SELECT count(*) FROM seen)");
        let count: i64 = diesel::select(count).get_result(&mut database).ok()?;
        (count >= events).then_some(())
    };
    wait_until("what was seen to be noted", PATIENCE, noted).await;
}

/// Returns an event for a relay that is interrupted before the confirm, and so publishes it twice.
fn repeated() -> Event {
    let data = json!({"session_id": Uuid::nil(), "user": {"id": 1, "username": "mia"}, "category": "reading"});
    Event {
        specversion: "1.0".to_owned(),
        id: Uuid::now_v7(),
        source: "worksession-service".to_owned(),
        event_type: "session.abandoned.v1".to_owned(),
        subject: format!("session/{}", Uuid::nil()),
        time: chrono::DateTime::UNIX_EPOCH,
        datacontenttype: "application/json".to_owned(),
        requestid: None,
        data: RawEventData::from_value(&data).unwrap(),
    }
}

async fn connect(rabbit: &TestBroker) -> Broker {
    let url: BrokerUrl = rabbit.url().parse().unwrap();
    let broker = Broker::connect(&url, rabbit.prefix(), "test");
    let ready = async || (broker.state().name() == "connected").then_some(());
    wait_until("the broker to be connected", PATIENCE, ready).await;
    broker
}

async fn publish(broker: &Broker, event: &Event) {
    let message = Message {
        exchange: Exchange::Public,
        routing_key: event.event_type.clone(),
        id: event.id,
        body: event.encode().unwrap().into_bytes().into(),
        has_subscriber: false,
    };
    assert_eq!(
        broker.publisher().publish(message).await,
        PublishOutcome::Confirmed
    );
}
