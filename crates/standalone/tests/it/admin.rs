//! `holdfast admin …` beside a running `holdfast serve`.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};
use test_kit::{ApiClient, assert_ends_quietly_if_output_closes, wait_until};

use crate::processes::{holdfast, quick};

fn admin(data: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_holdfast"))
        .args(["--data-dir", data.to_str().unwrap(), "admin", "identity"])
        .args(args)
        .env_clear()
        .envs(quick())
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_created_or_deactivated_by_command_is_so_for_the_running_process() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let before = admin(&data, &["users", "list"]);
    assert_eq!(before.status.code(), Some(1));
    let error = String::from_utf8(before.stderr).unwrap();
    assert!(
        error.contains(data.to_str().unwrap()) && error.lines().count() == 1,
        "{error}"
    );
    assert!(!data.exists(), "looking makes nothing");
    std::fs::create_dir(&data).unwrap();
    let empty = admin(&data, &["users", "list"]);
    assert_eq!(empty.status.code(), Some(1));
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);

    let mut process = holdfast(&data, &["serve"], &quick());
    let addresses = process.wait_listening(&["identity", "worksession", "notifier"]);
    let (identity, work) = (
        ApiClient::new(&addresses["identity"]),
        ApiClient::new(&addresses["worksession"]),
    );
    let made = json(&admin(&data, &["users", "create", "mia", "--json"]));
    let body = json!({ "username": "mia", "password": made["password"] });
    let pair = identity.post("/api/auth/login").json(body).send().await;
    let pair = pair.expect(200).json();
    let token = pair["access_token"].as_str().unwrap();
    work.get("/api/user/data")
        .bearer(token)
        .send()
        .await
        .expect(200);

    let said = admin(&data, &["users", "deactivate", "mia"]);
    assert!(said.status.success(), "{said:?}");
    wait_until(
        "the revocation in both areas",
        Duration::from_secs(1),
        async || {
            let identity = identity
                .get("/api/auth/validate")
                .bearer(token)
                .send()
                .await;
            let work = work.get("/api/user/data").bearer(token).send().await;
            (identity.status == 401 && work.status == 401).then_some(())
        },
    )
    .await;

    // The hint names the command as it was called.
    let error = admin(&data, &["users", "show", "nobody"]).stderr;
    let error = String::from_utf8(error).unwrap();
    assert!(
        error.contains("`holdfast admin identity users list"),
        "{error}"
    );
    assert!(process.terminate().success());
    // The commands do not need the running process.
    assert_eq!(
        json(&admin(&data, &["users", "show", "mia", "--json"]))["user"]["is_active"],
        false
    );
}

#[test]
fn a_command_whose_output_is_closed_ends_quietly() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    assert_ends_quietly_if_output_closes(command.args(["openapi", "identity"]).env_clear());
}
