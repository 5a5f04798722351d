//! Clients that sync while many writers make changes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::identity::Service;
use crate::person::{Person, honest};

/// The writers of each user.
const WRITERS: usize = 16;
const ROUNDS: usize = 6;

/// The version of each thing, a number that only grows, by the id that `sync` gives it.
type Versions = HashMap<String, usize>;

/// The changes that one user's writers know to be committed, and how many writers still run.
#[derive(Default)]
struct Done {
    versions: Mutex<Versions>,
    writers: AtomicUsize,
}

impl Done {
    fn is(&self, id: String, version: usize) {
        self.versions.lock().unwrap().insert(id, version);
    }
}

/// A client's copy of all things by their ids, with every change that it received.
#[derive(Default)]
struct Picture {
    cursor: Option<String>,
    things: HashMap<String, Value>,
    running: Value,
}

impl Picture {
    /// Syncs until there is no more for now.
    async fn catch_up(&mut self, person: &Person<'_>) {
        loop {
            let since = self.cursor.as_deref();
            let query = since.map_or(String::new(), |cursor| format!("?since={cursor}"));
            let path = format!("/api/sync/status{query}");
            let answer = insist(async || person.get(&path).await).await;
            let answer = answer.expect(200).json();
            for change in answer["changes"].as_array().unwrap() {
                let id = change["id"].as_str().unwrap().to_owned();
                self.things.insert(id, change["data"].clone());
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
            let thing = self
                .things
                .get(id)
                .unwrap_or_else(|| panic!("{id} is missing"));
            let version = version(thing);
            assert!(version >= *at_least, "{id} is {at_least}, not {thing}");
        }
    }
}

/// Returns the version by the writers' count: the number in a name plus archived, or the rating plus submitted.
fn version(thing: &Value) -> usize {
    if let Some(name) = thing["name"].as_str() {
        let archived = usize::from(thing["archived"] == true);
        return name.rsplit(' ').next().unwrap().parse::<usize>().unwrap() + archived;
    }
    let rating = thing["quality_rating"].as_u64().unwrap_or_default();
    usize::from(thing["submitted_at"].is_string()) + usize::try_from(rating).unwrap()
}

/// Repeats the call until it gets no 503: with one writer at a time, sixteen may wait longer than a request does.
async fn insist(call: impl AsyncFn() -> ApiResponse) -> ApiResponse {
    loop {
        let reply = call().await;
        if reply.status != 503 {
            return reply;
        }
    }
}

/// Starts sessions, each of which ends the running one, submits them and rates them.
async fn work(person: &Person<'_>, writer: usize, done: &Done) {
    for round in 0..ROUNDS {
        let note = format!("{writer} {round}");
        let body = json!({"category": "coding", "duration": 25, "note": note});
        let started = insist(async || person.post("/api/session/start", body.clone()).await).await;
        let started = started.expect(201).json();
        let id = started["session_id"].as_str().unwrap().to_owned();
        done.is(id.clone(), 0);
        let body = honest(&started, person.service);
        let submitted = insist(async || person.submit(body.clone()).await).await;
        submitted.expect(200);
        done.is(id.clone(), 1);
        let path = format!("/api/sessions/{id}");
        let rated = insist(async || {
            let patch = "PATCH".parse().unwrap();
            let call = person.service.api.call(patch, &path).bearer(&person.token);
            call.json(json!({"quality_rating": 5})).send().await
        });
        rated.await.expect(200);
        done.is(id, 6);
    }
}

/// Creates a project, renames it and archives it.
async fn plan(person: &Person<'_>, writer: usize, done: &Done) {
    let named = |round: usize| json!({"name": format!("{writer} {round}")});
    let made = insist(async || person.post("/api/projects", named(0)).await).await;
    let number = made.expect(201).json()["project"]["id"].clone();
    let (id, path) = (
        format!("personal_{number}"),
        format!("/api/projects/{number}"),
    );
    done.is(id.clone(), 0);
    for round in 1..=ROUNDS {
        let renamed = insist(async || {
            let put = person.service.api.put(&path).bearer(&person.token);
            put.json(named(round)).send().await
        });
        renamed.await.expect(200);
        done.is(id.clone(), round);
    }
    let archived = insist(async || {
        let delete = person.service.api.delete(&path).bearer(&person.token);
        delete.send().await
    });
    archived.await.expect(204);
    done.is(id, ROUNDS + 1);
}

async fn prefer(person: &Person<'_>, writer: usize) {
    for round in 0..ROUNDS {
        let body = json!({"default_duration": 1 + 16 * round + writer});
        let changed = insist(async || {
            let put = person.service.api.put("/api/user/preferences");
            put.bearer(&person.token).json(body.clone()).send().await
        });
        changed.await.expect(200);
    }
}

async fn follow(person: &Person<'_>, done: &Done) -> Picture {
    let mut picture = Picture::default();
    loop {
        // Read before the request: what commits during the request may or may not be in the response.
        let writers = done.writers.load(Ordering::SeqCst);
        let versions = done.versions.lock().unwrap().clone();
        picture.catch_up(person).await;
        picture.assert_has(&versions);
        if writers == 0 {
            return picture;
        }
    }
}

async fn check(person: &Person<'_>, picture: &Picture) {
    let mut fresh = Picture::default();
    fresh.catch_up(person).await;
    assert_eq!(picture.things, fresh.things);
    assert_eq!(picture.running, fresh.running);
    assert_eq!(picture.cursor, fresh.cursor);
    let sessions = person.get("/api/sessions?limit=200").await.expect(200);
    let projects = person.get("/api/projects?archived=true").await.expect(200);
    let (sessions, projects) = (sessions.json(), projects.json());
    let mut expected = HashMap::new();
    for session in sessions["sessions"].as_array().unwrap() {
        let id = session["session_id"].as_str().unwrap().to_owned();
        expected.insert(id, session.clone());
    }
    for project in projects["projects"].as_array().unwrap() {
        expected.insert(format!("personal_{}", project["id"]), project.clone());
    }
    let data = person.data().await;
    expected.insert(
        "preferences".to_owned(),
        json!({"preferences": data["preferences"], "timezone": data["timezone"]}),
    );
    assert_eq!(picture.things, expected);
    assert_eq!(expected.len(), WRITERS / 2 * ROUNDS + WRITERS / 4 + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_syncs_beside_16_writers_misses_nothing() {
    let (service, _stub) = Service::with_stub(0).await;
    let users = (7..10).map(|user| {
        let service = &service;
        async move {
            let person = Person::outsider(service, user);
            let done = Arc::new(Done::default());
            done.writers.store(WRITERS, Ordering::SeqCst);
            let writers = join_all((0..WRITERS).map(|writer| {
                let (person, done) = (&person, &done);
                async move {
                    match writer % 4 {
                        0 | 1 => work(person, writer, done).await,
                        2 => plan(person, writer, done).await,
                        _ => prefer(person, writer).await,
                    }
                    done.writers.fetch_sub(1, Ordering::SeqCst);
                }
            }));
            let followers = join_all((0..2).map(|_| follow(&person, &done)));
            let (_, pictures) = futures_util::future::join(writers, followers).await;
            for picture in &pictures {
                check(&person, picture).await;
            }
        }
    });
    join_all(users).await;
    service.stop().await;
}
