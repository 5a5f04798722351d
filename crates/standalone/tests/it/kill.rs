//! `kill -9` at random moments under load: every acknowledged change is kept, and the chat gets a message about every
//! started session.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use service_kit::crypto::random_bytes;
use test_kit::{ApiClient, ApiRequest, ApiResponse, FakeChat, TestBackend, wait_until};

use crate::harness::PASSWORD;
use crate::processes::Deployment;

const CLIENTS: usize = 4;
const KILLS: usize = 6;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killing_the_standalone_loses_no_acknowledged_change() {
    survive(Deployment::standalone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killing_any_of_the_three_services_loses_no_acknowledged_change() {
    if TestBackend::current() == TestBackend::Postgres {
        survive(Deployment::separate()).await;
    }
}

/// The responses that one client got.
#[derive(Default)]
struct Promised {
    token: String,
    /// The plan's note, which is also the name of the hook, by session id.
    started: HashMap<String, String>,
    /// The body of a submit and its response, by session id.
    submitted: HashMap<String, (Value, Value)>,
}

async fn survive(mut deployment: Deployment) {
    let chat = Arc::new(FakeChat::start().await);
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let apis = (deployment.identity.clone(), deployment.work.clone());
            tokio::spawn(work(number, apis, Arc::clone(&chat), Arc::clone(&stop)))
        })
        .collect();
    for round in 0..KILLS {
        let [a, b] = random_bytes::<2>();
        tokio::time::sleep(Duration::from_millis(400 + u64::from(a) * 4)).await;
        // The processes are killed in turn; the order does not matter, the moment does.
        let index = (round + usize::from(b & 1)) % deployment.len();
        deployment = tokio::task::spawn_blocking(move || {
            deployment.kill_and_restart(index);
            deployment
        })
        .await
        .unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.store(true, Ordering::SeqCst);
    let mut hooks = HashSet::new();
    for client in clients {
        let promised = client.await.unwrap();
        check(&deployment.work, &promised).await;
        hooks.extend(promised.started.into_values());
    }
    assert!(
        hooks.len() > KILLS,
        "there was a load: {} sessions",
        hooks.len()
    );
    wait_until(
        "every start to be told",
        Duration::from_secs(150),
        async || {
            let told: HashSet<String> = told(&chat).collect();
            hooks.is_subset(&told).then_some(())
        },
    )
    .await;
    let calls = told(&chat).filter(|hook| hooks.contains(hook)).count();
    eprintln!(
        "{} sessions started, {} told twice",
        hooks.len(),
        calls - hooks.len()
    );
}

fn told(chat: &FakeChat) -> impl Iterator<Item = String> {
    chat.messages()
        .into_iter()
        .filter_map(|message| message.path.rsplit('/').next().map(str::to_owned))
}

/// Registers, and then plans and submits one session after another, each on a project with a chat of its own. Every step
/// is repeated until it is answered.
async fn work(
    number: usize,
    apis: (ApiClient, ApiClient),
    chat: Arc<FakeChat>,
    stop: Arc<AtomicBool>,
) -> Promised {
    let (identity, work) = apis;
    let name = format!("worker-{number}");
    let token = sign_in(&identity, &name).await;
    let mut promised = Promised {
        token: token.clone(),
        ..Promised::default()
    };
    let team = json!({"name": name, "slug": name});
    // The team may exist even if its creation was not answered.
    insist(&[201, 409], || {
        identity
            .post("/api/teams")
            .bearer(&token)
            .json(team.clone())
    })
    .await;
    let teams = insist(&[200], || identity.get("/api/teams").bearer(&token))
        .await
        .json();
    let team = teams["teams"][0]["id"].clone();
    for turn in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let hook = format!("{name}-{turn}");
        let body = json!({"team_id": team, "name": hook});
        let project = insist(&[201], || {
            work.post("/api/team-projects")
                .bearer(&token)
                .json(body.clone())
        })
        .await
        .json();
        let project = project["project"]["id"]
            .as_i64()
            .or(project["id"].as_i64())
            .unwrap();
        let path = format!("/api/team-projects/{project}/chat");
        let body = json!({"provider": "slack", "webhook_url": chat.hook(&hook)});
        insist(&[200], || work.put(&path).bearer(&token).json(body.clone())).await;

        let plan = json!({"category": "coding", "duration": 1, "project_id": format!("team_{project}"), "note": hook});
        let start = || {
            work.post("/api/clienta_timer_start")
                .bearer(&token)
                .header("idempotency-key", &hook)
                .json(plan.clone())
        };
        let started = insist(&[200, 201], start).await.json();
        let session = started["session_id"].as_str().unwrap().to_owned();
        promised.started.insert(session.clone(), hook);

        let mut body = plan.clone();
        body["session_id"] = json!(session);
        body["start_time"] = started["started_at"].clone();
        body["end_time"] = started["started_at"].clone();
        body["note"] = json!("done");
        let answer = insist(&[200], || {
            work.post("/api/pomodoro/submit")
                .bearer(&token)
                .json(body.clone())
        })
        .await
        .json();
        promised.submitted.insert(session, (body, answer));
    }
    promised
}

async fn sign_in(identity: &ApiClient, name: &str) -> String {
    let body = json!({"username": name, "password": PASSWORD});
    // The account may exist even if its registration was not answered.
    insist(&[201, 400], || {
        identity.post("/api/auth/register").json(body.clone())
    })
    .await;
    let tokens = insist(&[200], || {
        identity.post("/api/auth/login").json(body.clone())
    })
    .await
    .json();
    tokens["access_token"].as_str().unwrap().to_owned()
}

/// Sends until there is an answer; 5xx and broken connections do not count.
async fn insist(expected: &[u16], call: impl Fn() -> ApiRequest) -> ApiResponse {
    let begun = Instant::now();
    loop {
        match call().try_send().await {
            Ok(reply) if reply.status < 500 => {
                let (call, status) = (&reply.call, reply.status);
                assert!(
                    expected.contains(&status),
                    "{call}: {status} {}",
                    reply.text()
                );
                return reply;
            }
            outcome => assert!(
                begun.elapsed() < PATIENCE,
                "no answer in a minute: {outcome:?}"
            ),
        }
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

async fn check(work: &ApiClient, promised: &Promised) {
    let token = &promised.token;
    for (session, note) in &promised.started {
        let path = format!("/api/get_presession/{session}");
        let planned = insist(&[200], || work.get(&path).bearer(token))
            .await
            .json();
        assert_eq!(planned["presession"]["planning_note"], **note);
    }
    for (session, (body, answer)) in &promised.submitted {
        let again = insist(&[200], || {
            work.post("/api/pomodoro/submit")
                .bearer(token)
                .json(body.clone())
        })
        .await;
        assert_eq!(&again.json(), answer, "the stored result of {session}");
    }
    let data = insist(&[200], || work.get("/api/user/data").bearer(token))
        .await
        .json();
    assert_eq!(
        data["session_stats"]["total_sessions"],
        promised.submitted.len(),
        "each credited once"
    );
}
