//! Rollups equal the sessions: after any history, after decisions about flags, and after damage.

use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::{assert_ends_quietly_if_output_closes, wait_until};

use crate::admin_command::{admin_command, admin_json, run_admin};
use crate::caller::{Caller, changed, honest};
use crate::database;
use crate::service_fixture::Service;

const TABLES: [&str; 7] = [
    "user_month",
    "user_totals",
    "user_day",
    "user_hour",
    "user_category",
    "user_badges",
    "board",
];

/// Returns the rollups of all users.
fn rollups(service: &Service) -> Vec<database::Row> {
    let mut rows = database::all_rows(service);
    rows.retain(|row| TABLES.contains(&row.table.as_str()));
    rows
}

/// Makes a history with everything in it: time zones, projects, a day that crosses midnight, flags, and sessions that
/// are partial, empty, late or out of order.
async fn fill_history(service: &Service, id: i64, days: usize) {
    let caller = Caller::member(service, id);
    caller.set_zone("America/New_York").await;
    let project = caller.team_project().await;
    let clock = &service.clock;
    for day in 0..days {
        caller
            .work(["coding", "study", "a, \"b\""][day % 3], 25)
            .await;
        let plan = json!({"category": "meeting", "duration": 40, "project_id": project});
        let early = caller.start(plan).await;
        clock.advance(TimeDelta::minutes(if day % 2 == 0 { 40 } else { 21 }));
        // The next start ends it, and it is submitted after that next session.
        let later = caller.start_coding().await;
        clock.advance(TimeDelta::minutes(25));
        caller.submit(honest(&later, service)).await.expect(200);
        caller.submit(honest(&early, service)).await.expect(200);
        let nothing = caller.start_coding().await;
        caller.submit(honest(&nothing, service)).await.expect(200);
        clock.advance(TimeDelta::hours(23));
        if day == 1 {
            // Submitted too late.
            let late = caller.start_coding().await;
            clock.advance(TimeDelta::hours(14));
            caller.submit(honest(&late, service)).await.expect(200);
            clock.advance(TimeDelta::hours(10));
        }
    }
    submit_suspect_session(&caller).await;
}

/// Submits 25 minutes with an end in the future; returns the session's id.
async fn submit_suspect_session(caller: &Caller<'_>) -> Value {
    let service = caller.service;
    let started = caller.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let ahead = service.time.now() + TimeDelta::minutes(10);
    let body = changed(honest(&started, service), &json!({ "end_time": ahead }));
    let answer = caller.submit(body).await.expect(200).json();
    assert_eq!(answer["credited_minutes"], 25);
    started["session_id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn rollups_written_by_submits_equal_the_sessions_and_a_rebuild_repairs_damage() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    // The command uses the system clock, so the leaderboards must be current.
    service
        .clock
        .set(service_kit::Clock::system().now() - TimeDelta::days(6));
    fill_history(&service, 8, 3).await;
    fill_history(&service, 9, 1).await;
    let before = rollups(&service);
    let boards = before.iter().filter(|row| row.table == "board").count();
    // This is the number if everything lies in one week of one month; otherwise there are more.
    assert!(boards >= 20, "{boards}");
    let report = admin_json(&service, &["rebuild-rollups", "--dry-run"]);
    assert_eq!(
        (&report["users"], &report["differed"]),
        (&json!(2), &json!(0)),
        "{report}"
    );

    // Each table is damaged in turn.
    let data = Caller::member(&service, 8).data().await;
    for damage in [
        "UPDATE user_totals SET points_centi = points_centi + 1 WHERE user_id = 8",
        "UPDATE user_day SET by_hour = '{}' WHERE user_id = 8",
        "DELETE FROM user_hour WHERE user_id = 8",
        "UPDATE user_month SET by_day = '{}' WHERE user_id = 8",
        "UPDATE user_category SET minutes = 1 WHERE user_id = 8",
        "DELETE FROM user_badges WHERE user_id = 8 AND badge = 'first_session'",
        "UPDATE board SET points_centi = 999999 WHERE user_id = 8",
        "UPDATE sessions SET on_boards = TRUE WHERE user_id = 8 AND credited_minutes = 0",
    ] {
        database::execute(&service, damage);
        let output = run_admin(
            &service,
            &["rebuild-rollups", "--user", "8", "--dry-run", "--json"],
        );
        assert_eq!(output.code, 3, "{damage}: {}", output.out);
        let report = admin_json(&service, &["rebuild-rollups"]);
        assert_eq!(report["differed"], 1, "{damage}");
        assert_eq!(report["differences"][0]["user_id"], 8);
        let report = admin_json(&service, &["rebuild-rollups", "--dry-run"]);
        assert_eq!(report["differed"], 0, "{damage}: {report}");
    }
    let after = rollups(&service);
    let without_versions = |rows: &[database::Row]| {
        rows.iter()
            .filter(|row| row.table != "user_totals")
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(without_versions(&after), without_versions(&before));
    assert_eq!(Caller::member(&service, 8).data().await, data);
    // Later submits continue from there.
    Caller::member(&service, 8).work("coding", 25).await;
    let report = admin_json(&service, &["rebuild-rollups", "--dry-run"]);
    assert_eq!(report["differed"], 0, "{report}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_without_sessions_empties_the_rollups() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    Caller::member(&service, 8).work("coding", 25).await;
    database::execute(&service, "DELETE FROM sessions");
    admin_json(&service, &["rebuild-rollups"]);
    let data = Caller::member(&service, 8).data().await;
    assert_eq!(data["session_stats"]["total_minutes"], 0);
    assert_eq!(data["points"]["total"], 0.0);
    assert_eq!(data["badges"], json!(["first_session"]), "held badges stay");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_counts_when_its_flag_is_cleared_and_not_when_it_is_upheld() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    service.clock.set(service_kit::Clock::system().now());
    let caller = Caller::outsider(&service, 8);
    let call = service
        .api
        .put("/api/user/preferences")
        .bearer(&caller.token);
    call.json(json!({"leaderboard_opt_in": true}))
        .send()
        .await
        .expect(200);
    caller.work("coding", 25).await;
    let session = submit_suspect_session(&caller).await;
    let minutes = async || {
        let board = caller
            .get("/api/leaderboard?period=all")
            .await
            .expect(200)
            .json();
        board["me"]["minutes"].clone()
    };
    assert_eq!(minutes().await, 25);

    let report = admin_json(&service, &["flags", "list", "--suspect"]);
    let flag = &report["flags"][0];
    assert_eq!(report["flags"].as_array().unwrap().len(), 1);
    assert_eq!(flag["session_id"], session);
    assert_eq!(flag["reason"], "The reported end is 600 s in the future");
    assert_eq!(
        (&flag["state"], &flag["username"]),
        (&json!("open"), &json!("person8"))
    );
    let id = flag["id"].to_string();
    let table = run_admin(&service, &["flags", "list"]).out;
    let row = "person8  suspect   The reported end is 600 s in the future  open";
    assert!(table.contains(row), "{table}");

    let cleared = admin_json(
        &service,
        &[
            "flags",
            "clear",
            &id,
            "--reason",
            "the clock of a new phone",
        ],
    );
    assert_eq!(
        (&cleared["state"], &cleared["decision"]),
        (&json!("cleared"), &json!("the clock of a new phone"))
    );
    assert_eq!(minutes().await, 50);
    assert_eq!(admin_json(&service, &["flags", "list"])["flags"], json!([]));
    // A decision can be revised.
    admin_json(
        &service,
        &["flags", "uphold", &id, "--reason", "and again the next day"],
    );
    assert_eq!(minutes().await, 25);
    let upheld = admin_json(
        &service,
        &["flags", "list", "--state", "upheld", "--user", "8"],
    );
    assert_eq!(upheld["flags"].as_array().unwrap().len(), 1);
    assert_eq!(
        caller.data().await["session_stats"]["total_minutes"],
        50,
        "points are not touched"
    );

    for (args, error) in [
        (
            vec!["flags", "clear", "999999", "--reason", "x"],
            "there is no flag 999999; `admin flags list --state all` lists all",
        ),
        (
            vec!["flags", "clear", &id, "--reason", " "],
            "--reason must be 1 to 500 characters",
        ),
    ] {
        let output = run_admin(&service, &args);
        assert_eq!(
            (output.code, output.err.trim()),
            (1, format!("error: {error}").as_str())
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nightly_audit_counts_differences_and_deletes_old_leaderboards() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for id in 8..12 {
        Caller::member(&service, id).work("coding", 25).await;
    }
    database::execute(
        &service,
        "UPDATE user_totals SET minutes = 26 WHERE user_id = 9",
    );
    service.clock.advance(TimeDelta::days(40));
    let metric = async |name: &str| {
        let text = service.api.get("/metrics").send().await.expect(200).text();
        let line = text.lines().find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(' ')
                .map(str::to_owned)
        });
        line.unwrap_or_default()
    };
    wait_until("the night's look", Duration::from_secs(20), async || {
        (metric("worksession_rollup_audits_total").await == "4").then_some(())
    })
    .await;
    assert_eq!(
        metric("worksession_rollup_audit_differences_total").await,
        "1"
    );
    let count = |period: &str| {
        database::count(
            &service,
            &format!("SELECT count(*) AS number FROM board WHERE period = '{period}'"),
        )
    };
    assert_eq!((count("day"), count("week")), (0, 0));
    assert_eq!((count("month"), count("all")), (4, 4));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_output_is_closed_ends_quietly() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for args in [["flags", "list"], ["rebuild-rollups", "--json"]] {
        assert_ends_quietly_if_output_closes(&mut admin_command(&service, &args));
        // A full disk is an error.
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = admin_command(&service, &args)
            .stdout(full)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1));
        assert!(error.contains("cannot be written"), "{error}");
    }
    service.stop().await;
}
