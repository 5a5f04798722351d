//! Rollups equal the sessions: after any history, after decisions about flags, and after damage.

use std::process::Command;
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::{assert_ends_quietly_if_output_closes, wait_until};

use crate::identity::Service;
use crate::person::{Person, changed, honest};
use crate::rows;

/// The exit code and the output of a command.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Returns an admin command of the program, on the service's database.
fn command(service: &Service, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_worksession-service"));
    command
        .arg("admin")
        .args(args)
        .env_clear()
        .env("WORKSESSION__DATABASE__URL", service.database.url());
    command
}

fn admin(service: &Service, args: &[&str]) -> Ran {
    let output = command(service, args).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a command that must succeed; returns its JSON.
pub fn told(service: &Service, args: &[&str]) -> Value {
    let ran = admin(service, &[args, &["--json"]].concat());
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, ""),
        "{args:?}: {}",
        ran.out
    );
    serde_json::from_str(&ran.out).unwrap()
}

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
fn rollups(service: &Service) -> Vec<rows::Row> {
    let mut rows = rows::all(service);
    rows.retain(|row| TABLES.contains(&row.table.as_str()));
    rows
}

/// Makes a history with everything in it: time zones, projects, a day that crosses midnight, flags, and sessions that
/// are partial, empty, late or out of order.
async fn live(service: &Service, id: i64, days: usize) {
    let person = Person::member(service, id);
    person.set_zone("America/New_York").await;
    let project = person.team_project().await;
    let clock = &service.clock;
    for day in 0..days {
        person
            .work(["coding", "study", "a, \"b\""][day % 3], 25)
            .await;
        let plan = json!({"category": "meeting", "duration": 40, "project_id": project});
        let early = person.start(plan).await;
        clock.advance(TimeDelta::minutes(if day % 2 == 0 { 40 } else { 21 }));
        // The next start ends it, and it is submitted after that next session.
        let later = person.start_coding().await;
        clock.advance(TimeDelta::minutes(25));
        person.submit(honest(&later, service)).await.expect(200);
        person.submit(honest(&early, service)).await.expect(200);
        let nothing = person.start_coding().await;
        person.submit(honest(&nothing, service)).await.expect(200);
        clock.advance(TimeDelta::hours(23));
        if day == 1 {
            // Submitted too late.
            let late = person.start_coding().await;
            clock.advance(TimeDelta::hours(14));
            person.submit(honest(&late, service)).await.expect(200);
            clock.advance(TimeDelta::hours(10));
        }
    }
    suspicious(&person).await;
}

/// Submits 25 minutes with an end in the future; returns the session's id.
async fn suspicious(person: &Person<'_>) -> Value {
    let service = person.service;
    let started = person.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let ahead = service.time.now() + TimeDelta::minutes(10);
    let body = changed(honest(&started, service), &json!({ "end_time": ahead }));
    let answer = person.submit(body).await.expect(200).json();
    assert_eq!(answer["credited_minutes"], 25);
    started["session_id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn rollups_written_by_submits_equal_the_sessions_and_a_rebuild_repairs_damage() {
    let (service, _stub) = Service::with_stub(0).await;
    // The command uses the system clock, so the leaderboards must be current.
    service
        .clock
        .set(service_kit::Clock::system().now() - TimeDelta::days(6));
    live(&service, 8, 3).await;
    live(&service, 9, 1).await;
    let before = rollups(&service);
    let boards = before.iter().filter(|row| row.table == "board").count();
    // This is the number if everything lies in one week of one month; otherwise there are more.
    assert!(boards >= 20, "{boards}");
    let looked = told(&service, &["rebuild-rollups", "--dry-run"]);
    assert_eq!(
        (&looked["users"], &looked["differed"]),
        (&json!(2), &json!(0)),
        "{looked}"
    );

    // Each table is damaged in turn.
    let data = Person::member(&service, 8).data().await;
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
        rows::execute(&service, damage);
        let ran = admin(
            &service,
            &["rebuild-rollups", "--user", "8", "--dry-run", "--json"],
        );
        assert_eq!(ran.code, 3, "{damage}: {}", ran.out);
        let mended = told(&service, &["rebuild-rollups"]);
        assert_eq!(mended["differed"], 1, "{damage}");
        assert_eq!(mended["differences"][0]["user_id"], 8);
        let looked = told(&service, &["rebuild-rollups", "--dry-run"]);
        assert_eq!(looked["differed"], 0, "{damage}: {looked}");
    }
    let after = rollups(&service);
    let but_versions = |rows: &[rows::Row]| {
        rows.iter()
            .filter(|row| row.table != "user_totals")
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(but_versions(&after), but_versions(&before));
    assert_eq!(Person::member(&service, 8).data().await, data);
    // Later submits continue from there.
    Person::member(&service, 8).work("coding", 25).await;
    let looked = told(&service, &["rebuild-rollups", "--dry-run"]);
    assert_eq!(looked["differed"], 0, "{looked}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_without_sessions_empties_the_rollups() {
    let (service, _stub) = Service::with_stub(0).await;
    Person::member(&service, 8).work("coding", 25).await;
    rows::execute(&service, "DELETE FROM sessions");
    told(&service, &["rebuild-rollups"]);
    let data = Person::member(&service, 8).data().await;
    assert_eq!(data["session_stats"]["total_minutes"], 0);
    assert_eq!(data["points"]["total"], 0.0);
    assert_eq!(data["badges"], json!(["first_session"]), "held badges stay");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_counts_when_its_flag_is_cleared_and_not_when_it_is_upheld() {
    let (service, _stub) = Service::with_stub(0).await;
    service.clock.set(service_kit::Clock::system().now());
    let person = Person::outsider(&service, 8);
    let call = service
        .api
        .put("/api/user/preferences")
        .bearer(&person.token);
    call.json(json!({"leaderboard_opt_in": true}))
        .send()
        .await
        .expect(200);
    person.work("coding", 25).await;
    let session = suspicious(&person).await;
    let minutes = async || {
        let board = person
            .get("/api/leaderboard?period=all")
            .await
            .expect(200)
            .json();
        board["me"]["minutes"].clone()
    };
    assert_eq!(minutes().await, 25);

    let listed = told(&service, &["flags", "list", "--suspect"]);
    let flag = &listed["flags"][0];
    assert_eq!(listed["flags"].as_array().unwrap().len(), 1);
    assert_eq!(flag["session_id"], session);
    assert_eq!(flag["reason"], "The reported end is 600 s in the future");
    assert_eq!(
        (&flag["state"], &flag["username"]),
        (&json!("open"), &json!("person8"))
    );
    let id = flag["id"].to_string();
    let table = admin(&service, &["flags", "list"]).out;
    let row = "person8  suspect   The reported end is 600 s in the future  open";
    assert!(table.contains(row), "{table}");

    let cleared = told(
        &service,
        &[
            "flags",
            "clear",
            &id,
            "--reason",
            "the clock of her new phone",
        ],
    );
    assert_eq!(
        (&cleared["state"], &cleared["decision"]),
        (&json!("cleared"), &json!("the clock of her new phone"))
    );
    assert_eq!(minutes().await, 50);
    assert_eq!(told(&service, &["flags", "list"])["flags"], json!([]));
    // A decision can be revised.
    told(
        &service,
        &["flags", "uphold", &id, "--reason", "and again the next day"],
    );
    assert_eq!(minutes().await, 25);
    let upheld = told(
        &service,
        &["flags", "list", "--state", "upheld", "--user", "8"],
    );
    assert_eq!(upheld["flags"].as_array().unwrap().len(), 1);
    assert_eq!(
        person.data().await["session_stats"]["total_minutes"],
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
        let ran = admin(&service, &args);
        assert_eq!(
            (ran.code, ran.err.trim()),
            (1, format!("error: {error}").as_str())
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nightly_audit_counts_differences_and_deletes_old_leaderboards() {
    let (service, _stub) = Service::with_stub(0).await;
    for id in 8..12 {
        Person::member(&service, id).work("coding", 25).await;
    }
    rows::execute(
        &service,
        "UPDATE user_totals SET minutes = 26 WHERE user_id = 9",
    );
    service.clock.advance(TimeDelta::days(40));
    let figure = async |name: &str| {
        let text = service.api.get("/metrics").send().await.expect(200).text();
        let line = text.lines().find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(' ')
                .map(str::to_owned)
        });
        line.unwrap_or_default()
    };
    wait_until("the night's look", Duration::from_secs(20), async || {
        (figure("worksession_rollup_audits_total").await == "4").then_some(())
    })
    .await;
    assert_eq!(
        figure("worksession_rollup_audit_differences_total").await,
        "1"
    );
    let count = |period: &str| {
        rows::count(
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
    let (service, _stub) = Service::with_stub(0).await;
    for args in [["flags", "list"], ["rebuild-rollups", "--json"]] {
        assert_ends_quietly_if_output_closes(&mut command(&service, &args));
        // A full disk is an error.
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = command(&service, &args).stdout(full).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1));
        assert!(error.contains("cannot be written"), "{error}");
    }
    service.stop().await;
}
