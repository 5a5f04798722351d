//! `holdfast admin backup`, beside a server that is being written to.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use test_kit::{ApiClient, FakeChat, Process};

use crate::filled_data_dir::*;
use crate::processes::{holdfast, quick};

const PASSWORD: &str = "correct horse battery";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_beside_a_busy_server_contains_all_that_was_acknowledged_before_it() {
    let demo = Demo::copy();
    fatten(demo.path());
    std::fs::create_dir_all(demo.path().join("mail")).unwrap();
    std::fs::write(demo.path().join("mail/a.eml"), "Subject: a\r\n\r\n").unwrap();
    let mut served = Served::on(demo.path());
    let before = answers(&served.work, &demo.token).await;

    // Each writer records what was acknowledged, and when.
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3)
        .map(|number| {
            let (identity, work) = (served.identity.clone(), served.work.clone());
            tokio::spawn(write(number, identity, work, Arc::clone(&stop)))
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(700)).await;

    let (_parent, backup) = place("backup");
    let (data, to) = (demo.path().to_owned(), backup.clone());
    let began = Instant::now();
    let said = tokio::task::spawn_blocking(move || done(&admin(&data, &["backup", arg(&to)])));
    let said = said.await.unwrap();
    let ended = Instant::now();
    stop.store(true, Ordering::SeqCst);
    let mut promised = Vec::new();
    for writer in writers {
        promised.extend(writer.await.unwrap());
    }
    let during = promised.iter().filter(|it| it.at > began && it.at < ended);
    eprintln!(
        "{said}\n{:?} for the backup, {} writes beside it",
        ended - began,
        during.count()
    );
    assert!(promised.iter().filter(|it| it.at < began).count() > 5);
    assert!(served.process.terminate().success());

    for name in names(&backup) {
        let mode = backup.join(&name).metadata().unwrap().permissions().mode() & 0o777;
        assert!(mode == 0o600 || mode == 0o700, "{name}: {mode:o}");
    }
    assert_eq!(
        names(&backup),
        [
            "demo.done",
            "identity-keys.key",
            "identity.db",
            "mail",
            "manifest.json",
            "notifier.db",
            "secrets.key",
            "worksession.db"
        ]
    );
    let (_parent, data) = place("data");
    done(&admin(&data, &["restore", arg(&backup)]));
    assert_eq!(names(&data.join("mail")), ["a.eml"]);
    let restored = Served::on(&data);
    assert_eq!(answers(&restored.work, &demo.token).await, before);
    for promise in promised.iter().filter(|it| it.at < began) {
        let projects = restored
            .work
            .get("/api/all-projects")
            .bearer(&promise.token)
            .send()
            .await
            .expect(200)
            .text();
        assert!(projects.contains(&promise.project), "{}", promise.project);
    }
    let refresh = json!({ "refresh_token": demo.refresh_token });
    let call = restored.identity.post("/api/auth/refresh").json(refresh);
    call.send().await.expect(200);
}

/// An account and a project that were both acknowledged.
struct Promise {
    at: Instant,
    token: String,
    project: String,
}

async fn write(
    number: usize,
    identity: ApiClient,
    work: ApiClient,
    stop: Arc<AtomicBool>,
) -> Vec<Promise> {
    let mut promised = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let name = format!("writer-{number}-{}", promised.len());
        let body = json!({"username": name, "password": PASSWORD});
        let call = identity.post("/api/auth/register").json(body);
        let tokens = call.send().await.expect(201).json();
        let token = tokens["access_token"].as_str().unwrap().to_owned();
        let project = format!("project of {name}");
        let body = json!({ "name": project });
        let call = work.post("/api/projects").bearer(&token).json(body);
        call.send().await.expect(201);
        promised.push(Promise {
            at: Instant::now(),
            token,
            project,
        });
    }
    promised
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_event_is_in_the_backup_of_its_sender_or_of_its_receiver() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::on(folder.path());
    let chat = FakeChat::start().await;
    let team = Team::told_to(&chat, &served).await;

    let stop = Arc::new(AtomicBool::new(false));
    let starts = {
        let (work, stop) = (served.work.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut started = 0;
            while !stop.load(Ordering::SeqCst) {
                team.start(&work).await;
                started += 1;
            }
            started
        })
    };
    let mut looked_at = 0;
    for _ in 0..6 {
        let (_parent, backup) = place("backup");
        let (data, to) = (folder.path().to_owned(), backup.clone());
        let run = move || done(&admin(&data, &["backup", arg(&to)]));
        tokio::task::spawn_blocking(run).await.unwrap();
        looked_at += check_events(&backup);
    }
    stop.store(true, Ordering::SeqCst);
    let started: i64 = starts.await.unwrap();
    eprintln!("{started} sessions started, {looked_at} looked at in six backups");
    assert!(looked_at > 20, "{looked_at}");
}

/// Checks that the start of each session is in the outbox or known to the notifier; returns the number of sessions.
fn check_events(backup: &Path) -> i64 {
    let mut work = sqlite(backup, "worksession");
    let all = words(&mut work, "SELECT session_id AS words FROM sessions");
    let waiting = words(
        &mut work,
        "SELECT json_extract(body, '$.data.session_id') AS words FROM outbox \
         WHERE routing_key = 'session.started.v1'",
    );
    let known = words(
        &mut sqlite(backup, "notifier"),
        "SELECT session_id AS words FROM deliveries WHERE kind = 'plan'",
    );
    for session in &all {
        assert!(
            waiting.contains(session) || known.contains(session),
            "the start of {session} is in neither: {} sessions, {} wait, {} known",
            all.len(),
            waiting.len(),
            known.len()
        );
    }
    i64::try_from(all.len()).unwrap()
}

#[test]
fn a_backup_killed_at_any_moment_leaves_nothing_that_looks_like_one() {
    let demo = Demo::copy();
    fatten(demo.path());
    let mut killed = 0;
    for wait in [5, 40, 120, 250, 400, 700, 1000] {
        let (parent, backup) = place("backup");
        let args = ["admin", "backup", arg(&backup)];
        let mut process: Process = holdfast(demo.path(), &args, &quick());
        std::thread::sleep(Duration::from_millis(wait));
        process.kill();
        let left = names(parent.path());
        let (_elsewhere, data) = place("data");
        if left == ["backup"] {
            // It had ended before the kill.
            done(&admin(&data, &["restore", arg(&backup)]));
            continue;
        }
        killed += 1;
        for name in left {
            assert!(name.starts_with(".backup.partial-"), "{name}");
            let partial = parent.path().join(name);
            let manifest = partial.join("manifest.json").metadata();
            if manifest.is_ok_and(|file| file.len() > 0) {
                // The manifest is written last: only the folder was not yet renamed.
                done(&admin(&data, &["restore", arg(&partial)]));
                std::fs::remove_dir_all(&data).unwrap();
                continue;
            }
            let said = refused(&admin(&data, &["restore", arg(&partial)]));
            assert!(said.contains("not a backup of holdfast"), "{said}");
        }
        assert!(!data.exists());
        // A partial backup does not block a new one.
        done(&admin(demo.path(), &["backup", arg(&backup)]));
    }
    assert!(killed > 1, "{killed}");
}

#[test]
fn a_backup_is_refused_if_its_path_exists_or_its_data_do_not() {
    let demo = Demo::copy();
    let there = tempfile::tempdir().unwrap();
    let said = refused(&admin(demo.path(), &["backup", arg(there.path())]));
    assert!(said.contains("already exists"), "{said}");
    let (_parent, none) = place("data");
    let (_elsewhere, backup) = place("backup");
    let said = refused(&admin(&none, &["backup", arg(&backup)]));
    assert!(said.contains(arg(&none)), "{said}");
    assert!(!none.exists() && !backup.exists());
    // If a file is not a database, nothing is left of the attempt.
    std::fs::write(demo.path().join("notifier.db"), "no database".repeat(1000)).unwrap();
    refused(&admin(demo.path(), &["backup", arg(&backup)]));
    assert!(names(backup.parent().unwrap()).is_empty());
}

#[test]
fn a_linked_key_is_in_the_backup_and_a_configured_one_is_not() {
    let demo = Demo::copy();
    let elsewhere = tempfile::tempdir().unwrap();
    let (kept, link) = (
        elsewhere.path().join("key"),
        demo.path().join("secrets.key"),
    );
    std::fs::rename(&link, &kept).unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();

    let (_parent, backup) = place("linked");
    let said = done(&admin(demo.path(), &["backup", arg(&backup)]));
    assert!(!said.contains("store it elsewhere"), "{said}");
    let key = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(
        std::fs::read_to_string(backup.join("secrets.key")).unwrap(),
        key
    );

    // A link of any other name is not followed. A link in place of a key that leads nowhere is an error.
    let (stray, own) = (
        demo.path().join("stray"),
        demo.path().join("identity-keys.key"),
    );
    std::os::unix::fs::symlink(&kept, &stray).unwrap();
    let (_parent, backup) = place("stray");
    done(&admin(demo.path(), &["backup", arg(&backup)]));
    assert!(!backup.join("stray").exists());
    let aside = elsewhere.path().join("identity");
    std::fs::rename(&own, &aside).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("nothing"), &own).unwrap();
    let (_parent, backup) = place("dangling");
    let said = refused(&admin(demo.path(), &["backup", arg(&backup)]));
    assert!(said.contains(arg(&own)), "{said}");
    std::fs::remove_file(&own).unwrap();
    std::fs::rename(&aside, &own).unwrap();

    let (_parent, backup) = place("given");
    let mut env = quick();
    env.insert("NOTIFIER__SECRETS__ENCRYPTION_KEY".into(), key);
    let said = done(&admin_with(demo.path(), &["backup", arg(&backup)], &env));
    let told = "SECRETS__ENCRYPTION_KEY is configured and not in the backup; store it elsewhere";
    assert!(said.contains(told), "{said}");
}
