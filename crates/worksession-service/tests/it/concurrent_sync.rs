//! Clients that sync while many writers make changes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::caller::{Caller, honest};
use crate::service_fixture::Service;

/// The writers of each user.
const WRITERS: usize = 16;
const ROUNDS: usize = 6;
const START: &str = "/api/session/start";

/// The version of each entity, a number that only grows, by the id that the sync endpoint returns.
type Versions = HashMap<String, usize>;

/// The changes that one user's writers know to be committed, and how many writers still run.
#[derive(Default)]
struct CommittedChanges {
    versions: Mutex<Versions>,
    writers: AtomicUsize,
}

impl CommittedChanges {
    fn record(&self, id: String, version: usize) {
        self.versions.lock().unwrap().insert(id, version);
    }
}

/// A client's copy of all entities by their ids, with every change that it received.
#[derive(Default)]
struct ClientCopy {
    cursor: Option<String>,
    entities: HashMap<String, Value>,
    running: Value,
}

impl ClientCopy {
    /// Syncs until there is no more for now.
    async fn sync(&mut self, caller: &Caller<'_>) {
        loop {
            let since = self.cursor.as_deref();
            let query = since.map_or(String::new(), |cursor| format!("?since={cursor}"));
            let path = format!("/api/sync/status{query}");
            let answer = retry_while_503(async || caller.get(&path).await).await;
            let answer = answer.expect(200).json();
            for change in answer["changes"].as_array().unwrap() {
                let id = change["id"].as_str().unwrap().to_owned();
                self.entities.insert(id, change["data"].clone());
            }
            self.running = answer["running_session"].clone();
            self.cursor = Some(answer["cursor"].as_str().unwrap().to_owned());
            if answer["more"] == false {
                return;
            }
        }
    }

    /// Checks that nothing committed before the request is missing in the response.
    fn assert_has(&self, done: &Versions) {
        for (id, at_least) in done {
            let entity = self
                .entities
                .get(id)
                .unwrap_or_else(|| panic!("{id} is missing"));
            let version = version(entity);
            assert!(version >= *at_least, "{id} is {at_least}, not {entity}");
        }
    }
}

/// Returns the version by the writers' count: the number in a name plus archived, or the rating plus submitted.
fn version(entity: &Value) -> usize {
    if let Some(name) = entity["name"].as_str() {
        let archived = usize::from(entity["archived"] == true);
        return name.rsplit(' ').next().unwrap().parse::<usize>().unwrap() + archived;
    }
    let rating = entity["quality_rating"].as_u64().unwrap_or_default();
    usize::from(entity["submitted_at"].is_string()) + usize::try_from(rating).unwrap()
}

/// Repeats the call while it gets 503: with one writer at a time, sixteen may wait longer than a request does.
async fn retry_while_503(call: impl AsyncFn() -> ApiResponse) -> ApiResponse {
    loop {
        let reply = call().await;
        if reply.status != 503 {
            return reply;
        }
    }
}

/// Starts sessions, each of which ends the running one, submits them and rates them.
async fn write_sessions(caller: &Caller<'_>, writer: usize, done: &CommittedChanges) {
    for round in 0..ROUNDS {
        let note = format!("{writer} {round}");
        let body = json!({"category": "coding", "duration": 25, "note": note});
        let started = retry_while_503(async || caller.post(START, body.clone()).await).await;
        let started = started.expect(201).json();
        let id = started["session_id"].as_str().unwrap().to_owned();
        done.record(id.clone(), 0);
        let body = honest(&started, caller.service);
        let submitted = retry_while_503(async || caller.submit(body.clone()).await).await;
        submitted.expect(200);
        done.record(id.clone(), 1);
        let path = format!("/api/sessions/{id}");
        let rated = retry_while_503(async || {
            let patch = "PATCH".parse().unwrap();
            let call = caller.service.api.call(patch, &path).bearer(&caller.token);
            call.json(json!({"quality_rating": 5})).send().await
        });
        rated.await.expect(200);
        done.record(id, 6);
    }
}

/// Creates a project, renames it and archives it.
async fn write_projects(caller: &Caller<'_>, writer: usize, done: &CommittedChanges) {
    let named = |round: usize| json!({"name": format!("{writer} {round}")});
    let made = retry_while_503(async || caller.post("/api/projects", named(0)).await).await;
    let number = made.expect(201).json()["project"]["id"].clone();
    let (id, path) = (
        format!("personal_{number}"),
        format!("/api/projects/{number}"),
    );
    done.record(id.clone(), 0);
    for round in 1..=ROUNDS {
        let renamed = retry_while_503(async || {
            let put = caller.service.api.put(&path).bearer(&caller.token);
            put.json(named(round)).send().await
        });
        renamed.await.expect(200);
        done.record(id.clone(), round);
    }
    let archived = retry_while_503(async || {
        let delete = caller.service.api.delete(&path).bearer(&caller.token);
        delete.send().await
    });
    archived.await.expect(204);
    done.record(id, ROUNDS + 1);
}

async fn write_preferences(caller: &Caller<'_>, writer: usize) {
    for round in 0..ROUNDS {
        let body = json!({"default_duration": 1 + 16 * round + writer});
        let changed = retry_while_503(async || {
            let put = caller.service.api.put("/api/user/preferences");
            put.bearer(&caller.token).json(body.clone()).send().await
        });
        changed.await.expect(200);
    }
}

async fn sync_until_written(caller: &Caller<'_>, done: &CommittedChanges) -> ClientCopy {
    let mut copy = ClientCopy::default();
    loop {
        // Read before the request: what commits during the request may or may not be in the response.
        let writers = done.writers.load(Ordering::SeqCst);
        let versions = done.versions.lock().unwrap().clone();
        copy.sync(caller).await;
        copy.assert_has(&versions);
        if writers == 0 {
            return copy;
        }
    }
}

async fn check_copy(caller: &Caller<'_>, copy: &ClientCopy) {
    let mut fresh = ClientCopy::default();
    fresh.sync(caller).await;
    assert_eq!(copy.entities, fresh.entities);
    assert_eq!(copy.running, fresh.running);
    assert_eq!(copy.cursor, fresh.cursor);
    let sessions = caller.get("/api/sessions?limit=200").await.expect(200);
    let projects = caller.get("/api/projects?archived=true").await.expect(200);
    let (sessions, projects) = (sessions.json(), projects.json());
    let mut expected = HashMap::new();
    for session in sessions["sessions"].as_array().unwrap() {
        let id = session["session_id"].as_str().unwrap().to_owned();
        expected.insert(id, session.clone());
    }
    for project in projects["projects"].as_array().unwrap() {
        expected.insert(format!("personal_{}", project["id"]), project.clone());
    }
    let data = caller.data().await;
    expected.insert(
        "preferences".to_owned(),
        json!({"preferences": data["preferences"], "timezone": data["timezone"]}),
    );
    assert_eq!(copy.entities, expected);
    assert_eq!(expected.len(), WRITERS / 2 * ROUNDS + WRITERS / 4 + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_syncs_beside_16_writers_misses_nothing() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let users = (7..10).map(|user| {
        let service = &service;
        async move {
            let caller = Caller::outsider(service, user);
            let done = Arc::new(CommittedChanges::default());
            done.writers.store(WRITERS, Ordering::SeqCst);
            let writers = join_all((0..WRITERS).map(|writer| {
                let (caller, done) = (&caller, &done);
                async move {
                    match writer % 4 {
                        0 | 1 => write_sessions(caller, writer, done).await,
                        2 => write_projects(caller, writer, done).await,
                        _ => write_preferences(caller, writer).await,
                    }
                    done.writers.fetch_sub(1, Ordering::SeqCst);
                }
            }));
            let readers = join_all((0..2).map(|_| sync_until_written(&caller, &done)));
            let (_, copies) = futures_util::future::join(writers, readers).await;
            for copy in &copies {
                check_copy(&caller, copy).await;
            }
        }
    });
    join_all(users).await;
    service.stop().await;
}
