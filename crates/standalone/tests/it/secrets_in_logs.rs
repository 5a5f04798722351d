//! A whole run of the real program with everything logged: no line contains a password, token, chat address or key, and
//! files contain only their hashes.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;
use test_kit::{ApiClient, ChatReply, FakeChat, TestBackend};

use crate::processes::{Servers, holdfast, quick};

const HOOK: &str = "T0SECRET/B0SECRET/hooksecrethooksecret";
const PASSWORD: &str = "pa55word of the test";
const WRONG: &str = "wr0ngword of the test";

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_any_log_line_or_in_clear_in_any_file() {
    let data = tempfile::tempdir().unwrap();
    let chat = FakeChat::start().await;
    let servers = Servers::fresh();
    for format in ["text", "json"] {
        let mut env = quick();
        if TestBackend::current() == TestBackend::Postgres {
            servers.set_into(&mut env);
        }
        env.insert("RUST_LOG".into(), "trace".into());
        env.insert("LOG_FORMAT".into(), format.into());
        let mut process = holdfast(data.path(), &["serve"], &env);
        let urls = process.wait_listening(&["identity", "worksession", "notifier"]);
        let (identity, work) = (
            ApiClient::new(&*urls["identity"]),
            ApiClient::new(&*urls["worksession"]),
        );
        let mut secrets = live(&identity, &work, &chat, format).await;
        assert!(process.terminate().success());

        let log = format!("{}\n{}", process.stdout(), process.stderr());
        assert!(
            log.lines().count() > 50 && log.contains("answered 201"),
            "the run is logged:\n{log}"
        );
        secrets.extend(keys(data.path()));
        absent("the log", &log, &secrets);
        for file in fs::read_dir(data.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            let is_key = file.extension().is_some_and(|extension| extension == "key");
            if file.is_file() && !is_key {
                let content = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
                absent(&file.display().to_string(), &content, &secrets);
            }
        }
    }
}

/// Uses everything that takes or returns a secret, correctly and incorrectly; returns those secrets.
async fn live(identity: &ApiClient, work: &ApiClient, chat: &FakeChat, name: &str) -> Vec<String> {
    let mut secrets: Vec<String> = [PASSWORD, WRONG, "hooksecrethooksecret", "B0SECRET"]
        .map(str::to_owned)
        .into();
    let account = json!({"username": name, "password": PASSWORD});
    let tokens = identity
        .post("/api/auth/register")
        .json(account.clone())
        .send()
        .await
        .expect(201)
        .json();
    let mut pairs = vec![tokens.clone()];
    for (api, path) in [(identity, "/api/auth/login"), (work, "/api/login")] {
        let right = api.post(path).json(account.clone()).send().await;
        pairs.push(right.expect(200).json());
        let wrong = json!({"username": name, "password": WRONG, "totp_code": WRONG});
        api.post(path).json(wrong).send().await.expect(401);
        for (kind, body) in [
            ("application/json", format!("{{\"password\":\"{WRONG}\"")),
            (
                "application/json",
                format!("{{\"password\":\"{WRONG}\",\"username\":1}}"),
            ),
            ("text/plain", format!("password={WRONG}")),
        ] {
            api.post(path).body(kind, body).send().await.expect(400);
        }
    }
    let other = pairs[1].clone();

    let presented = json!({"refresh_token": tokens["refresh_token"]});
    let renewed = identity
        .post("/api/auth/refresh")
        .json(presented)
        .send()
        .await
        .expect(200)
        .json();
    pairs.push(renewed.clone());
    for pair in &pairs {
        for kind in ["access_token", "refresh_token"] {
            secrets.push(pair[kind].as_str().unwrap().to_owned());
        }
    }
    let token = renewed["access_token"].as_str().unwrap();
    let forged = format!("{}x", other["access_token"].as_str().unwrap());
    identity
        .get("/api/auth/validate")
        .bearer(token)
        .send()
        .await
        .expect(200);
    identity
        .get("/api/auth/validate")
        .bearer(&forged)
        .send()
        .await
        .expect(401);
    work.get("/api/user/data")
        .bearer(&forged)
        .send()
        .await
        .expect(401);

    let team = json!({"name": "Quiet", "slug": format!("quiet-{name}")});
    let team = identity
        .post("/api/teams")
        .bearer(token)
        .json(team)
        .send()
        .await
        .expect(201)
        .json();
    let project = json!({"team_id": team["team"]["id"], "name": "Silence"});
    let project = work
        .post("/api/team-projects")
        .bearer(token)
        .json(project)
        .send()
        .await
        .expect(201)
        .json();
    let id = project["project"]["id"]
        .as_i64()
        .or(project["id"].as_i64())
        .unwrap();
    let path = format!("/api/team-projects/{id}/chat");
    let hook = json!({"provider": "slack", "webhook_url": chat.hook(HOOK)});
    work.put(&path)
        .bearer(token)
        .json(hook)
        .send()
        .await
        .expect(200);
    let bad = json!({"provider": "slack", "webhook_url": format!("ftp://{HOOK}")});
    work.put(&path)
        .bearer(token)
        .json(bad)
        .send()
        .await
        .expect(400);

    secrets.push(webhook(work, chat, token).await);
    chat.script([ChatReply::Status(500), ChatReply::Status(410)]);
    let plan = json!({"category": "coding", "duration": 1, "project_id": format!("team_{id}")});
    work.post("/api/session/start")
        .bearer(token)
        .json(plan)
        .send()
        .await
        .expect(201);
    for _ in 0..2 {
        chat.next_message_within(std::time::Duration::from_secs(60))
            .await
            .expect("tried again");
    }
    let body = json!({"refresh_token": other["refresh_token"]});
    identity
        .post("/api/auth/logout")
        .bearer(token)
        .json(body)
        .send()
        .await
        .expect(200);
    secrets
}

/// Triggers a webhook and rotates its secret; returns the first secret.
async fn webhook(work: &ApiClient, chat: &FakeChat, token: &str) -> String {
    let body = json!({"url": chat.hook(HOOK), "events": ["session.abandoned.v1"]});
    let call = work.post("/api/webhooks").bearer(token).json(body);
    let made = call.send().await.expect(201).json();
    let path = format!("/api/webhooks/{}", made["webhook"]["id"]);
    let rotate = work.post(&format!("{path}/rotate-secret")).bearer(token);
    rotate.json(json!({})).send().await.expect(200);
    let test = work.post(&format!("{path}/test")).bearer(token);
    test.json(json!({})).send().await.expect(202);
    let secret = made["secret"].as_str().unwrap();
    assert!(chat.next_message().await.is_signed_with(secret));
    secret.to_owned()
}

/// Returns the keys of the data directory, in the notations that a log might use.
fn keys(data: &Path) -> Vec<String> {
    let mut spellings = Vec::new();
    for file in fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if file.extension().is_some_and(|extension| extension == "key") {
            let text = fs::read_to_string(&file).unwrap();
            let bytes = STANDARD.decode(text.trim()).unwrap();
            spellings.push(text.trim().to_owned());
            spellings.push(URL_SAFE_NO_PAD.encode(&bytes));
            spellings.push(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
            spellings.push(format!("{bytes:?}"));
        }
    }
    assert!(!spellings.is_empty(), "the run made its keys");
    spellings
}

#[track_caller]
fn absent(place: &str, text: &str, secrets: &[String]) {
    for secret in secrets {
        // The prefix of a token is no secret; the signature at its end is.
        let tail: String = secret
            .chars()
            .skip(secret.chars().count().saturating_sub(24))
            .collect();
        if let Some(line) = text.lines().find(|line| line.contains(&tail)) {
            panic!("{place} holds a secret: {line:.400}");
        }
    }
}
