//! `holdfast admin restore`: what it refuses, and that a refused restore changes nothing.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::filled_data_dir::*;
use crate::processes::{holdfast, quick};

/// Creates a backup of the demo data.
fn backup() -> (Demo, TempDir, PathBuf) {
    let demo = Demo::copy();
    let (parent, backup) = place("backup");
    done(&admin(demo.path(), &["backup", arg(&backup)]));
    (demo, parent, backup)
}

fn rewrite(backup: &Path, change: impl FnOnce(&mut Value)) {
    let mut read = manifest(backup);
    change(&mut read);
    std::fs::write(backup.join("manifest.json"), read.to_string()).unwrap();
}

#[test]
fn a_damaged_backup_is_refused_before_anything_changes() {
    let (_demo, _parent, whole) = backup();
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 8] = [
        ("checksum or size", |backup| {
            let path = backup.join("worksession.db");
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(path, bytes).unwrap();
        }),
        ("checksum or size", |backup| {
            let path = backup.join("identity.db");
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() - 4096]).unwrap();
        }),
        ("secrets.key", |backup| {
            std::fs::remove_file(backup.join("secrets.key")).unwrap()
        }),
        ("not a backup of holdfast", |backup| {
            std::fs::remove_file(backup.join("manifest.json")).unwrap();
        }),
        ("newer version", |backup| {
            rewrite(backup, |it| {
                it["databases"]["notifier"]["schema"] = json!("29990101000001")
            });
        }),
        ("the format 2, written by holdfast 9.0.0", |backup| {
            rewrite(backup, |it| {
                *it = json!({"format": 2, "version": "9.0.0", "new": true});
            });
        }),
        ("outside the backup", |backup| {
            rewrite(backup, |it| {
                it["files"][0]["name"] = json!("../identity.db")
            });
        }),
        ("the row counts", |backup| {
            rewrite(backup, |it| {
                it["databases"]["worksession"]["rows"]["sessions"] = json!(1)
            });
        }),
    ];
    for (said, damage) in damages {
        let (_parent, damaged) = place("damaged");
        copy_folder(&whole, &damaged);
        damage(&damaged);
        let (_elsewhere, data) = place("data");
        let answer = refused(&admin(&data, &["restore", arg(&damaged)]));
        assert!(answer.contains(said), "{said}: {answer}");
        assert!(!data.exists(), "{said}");
        // Nor does a data directory with content change, even with `--force`.
        let kept = tempfile::tempdir().unwrap();
        std::fs::write(kept.path().join("secrets.key"), "mine").unwrap();
        refused(&admin(kept.path(), &["restore", arg(&damaged), "--force"]));
        let mut left = names(kept.path());
        left.retain(|name| name != "serve.lock");
        assert_eq!(left, ["secrets.key"], "{said}");
    }
}

#[test]
fn a_database_of_a_newer_version_is_refused_whatever_the_manifest_says() {
    let demo = Demo::copy();
    use diesel::connection::SimpleConnection as _;
    sqlite(demo.path(), "identity")
        .batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('29990101000001')")
        .unwrap();
    let (_parent, backup) = place("backup");
    done(&admin(demo.path(), &["backup", arg(&backup)]));
    rewrite(&backup, |it| {
        it["databases"]["identity"]["schema"] = json!("")
    });
    let (_elsewhere, data) = place("data");
    let said = refused(&admin(&data, &["restore", arg(&backup)]));
    assert!(
        said.contains("newer version") && said.contains("29990101000001"),
        "{said}"
    );
    assert!(!data.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_with_content_is_replaced_only_with_force_and_kept_beside_it() {
    let (demo, _parent, backup) = backup();
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let mut served = Served::on(&data);
    let body = json!({"username": "kept", "password": "correct horse battery"});
    let call = served.identity.post("/api/auth/register").json(body);
    let tokens = call.send().await.expect(201).json();
    let of_before = tokens["access_token"].as_str().unwrap().to_owned();

    let said = refused(&admin(&data, &["restore", arg(&backup)]));
    assert!(said.contains("in use"), "{said}");
    let said = refused(&admin(&data, &["restore", arg(&backup), "--force"]));
    assert!(said.contains("in use"), "{said}");
    assert!(served.process.terminate().success());
    let said = refused(&admin(&data, &["restore", arg(&backup)]));
    assert!(
        said.contains("is not empty") && said.contains("--force"),
        "{said}"
    );

    done(&admin(&data, &["restore", arg(&backup), "--force"]));
    let mut served = Served::on(&data);
    let is_demo = answers(&served.work, &demo.token).await;
    assert!(is_demo["/api/user/data"].contains("demo"));
    assert!(served.process.terminate().success());
    let kept: Vec<String> = names(parent.path());
    assert_eq!(kept.len(), 2, "{kept:?}");
    assert!(kept[1].starts_with("data.replaced-20"), "{kept:?}");
    let served = Served::on(&parent.path().join(&kept[1]));
    let call = served.work.get("/api/user/data").bearer(&of_before);
    call.send().await.expect(200);
}

#[test]
fn a_restore_is_refused_while_a_process_has_a_database_open() {
    let (_demo, _parent, backup) = backup();
    let folder = Demo::copy();
    // Like a part that runs by itself: idle, with a connection in its pool.
    let mut other = sqlite(folder.path(), "notifier");
    assert!(!words(&mut other, "SELECT name AS words FROM sqlite_schema").is_empty());
    let args = ["restore", arg(&backup), "--force"];
    let said = refused(&admin(folder.path(), &args));
    assert!(
        said.contains("notifier.db is open in another process"),
        "{said}"
    );
    drop(other);
    done(&admin(folder.path(), &args));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_server_starts_on_an_interrupted_restore_until_it_is_run_again() {
    let (demo, _parent, backup) = backup();
    let (_elsewhere, data) = place("data");
    // As after a crash between two of the last steps.
    std::fs::create_dir(&data).unwrap();
    std::fs::copy(backup.join("identity.db"), data.join("identity.db")).unwrap();
    std::fs::create_dir(data.join(".restore-0123")).unwrap();
    std::fs::write(data.join("restore.unfinished"), "").unwrap();
    let mut process = holdfast(&data, &["serve"], &quick());
    assert!(!process.wait().success());
    assert!(
        process.stderr().contains("was interrupted"),
        "{}",
        process.stderr()
    );
    let said = refused(&admin(&data, &["restore", arg(&backup)]));
    assert!(said.contains("--force"), "{said}");
    done(&admin(&data, &["restore", arg(&backup), "--force"]));
    let served = Served::on(&data);
    answers(&served.work, &demo.token).await;
}

#[test]
fn a_restore_killed_at_any_moment_is_complete_or_can_be_repeated() {
    let demo = Demo::copy();
    fatten(demo.path());
    let (_parent, backup) = place("backup");
    done(&admin(demo.path(), &["backup", arg(&backup)]));
    for wait in [20, 100, 300, 600, 900] {
        let (_elsewhere, data) = place("data");
        let args = ["admin", "restore", arg(&backup)];
        let mut process = holdfast(&data, &args, &quick());
        std::thread::sleep(std::time::Duration::from_millis(wait));
        process.kill();
        let left = if data.exists() {
            names(&data)
        } else {
            Vec::new()
        };
        let is_whole = left.iter().any(|name| name == "worksession.db")
            && !left.iter().any(|name| name == "restore.unfinished");
        if !is_whole {
            done(&admin(&data, &["restore", arg(&backup), "--force"]));
        }
        for part in PARTS {
            assert_eq!(tables(&data, part), tables(demo.path(), part));
        }
    }
}

#[test]
fn two_servers_do_not_share_a_data_directory() {
    let folder = tempfile::tempdir().unwrap();
    let _served = Served::on(folder.path());
    let mut second = holdfast(folder.path(), &["serve"], &quick());
    assert!(!second.wait().success());
    assert!(second.stderr().contains("is in use"), "{}", second.stderr());
}
