use db_kit::DbError;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamp};
use serde_json::json;
use test_kit::wait_until;

use crate::harness::{PASSWORD, System, execution, iso, plan};

#[derive(QueryableByName)]
struct Moment {
    #[diesel(sql_type = Timestamp)]
    at: chrono::NaiveDateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_registers_works_and_sees_points_and_the_team_is_notified() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "engines").await;
    system.connect_chat(&ada, &team, "T1/B1/engines").await;

    let started = system
        .start_session(&ada, plan(&team.project_id()))
        .await
        .expect(201)
        .json();
    assert_eq!(started["success"], true);
    let session = started["session_id"].as_str().unwrap().to_owned();
    let expected = json!({
        "category": "coding",
        "planned_duration": 25,
        "planning_note": "Write the parser",
        "project": {"id": team.project_id(), "name": "Beacon", "type": "team"},
    });
    assert_eq!(started["presession"], expected);

    let message = system.chat.next_message().await;
    assert_eq!(message.path, "/services/T1/B1/engines");
    for part in ["ada", "coding", "25", "Write the parser", "Beacon"] {
        let body = message.body.to_string();
        assert!(body.contains(part), "{part:?} is in the message {body}");
    }

    let path = format!("/api/get_presession/{session}");
    let planned = system
        .work
        .get(&path)
        .bearer(&ada.token)
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(planned["presession"], expected);
    assert_eq!(planned["status"], "running");

    // A clock that moves before the delivery is recorded would end its lease.
    until_delivered(&system, 1).await;
    let start = system.now();
    system.minutes_pass(25);
    let body = execution(&session, &team.project_id(), start, system.now());
    let done = system.submit(&ada, body).await.expect(200).json();
    assert_eq!(done["status"], "completed");
    assert_eq!(done["credited_minutes"], 25);
    // 2.5 points for the minutes. The rules decide whether the first day is already a streak of one, so both 2.50 and 2.55
    // are accepted.
    let points = done["points_awarded"].as_f64().unwrap();
    assert!([2.5, 2.55].contains(&points), "{done}");
    assert_eq!(done["new_badges"], json!(["first_session"]));

    let data = system.user_data(&ada).await;
    assert_eq!(data["userId"], ada.id.to_string());
    assert_eq!(data["username"], "ada");
    for period in ["total", "today", "this_week", "this_month"] {
        assert_eq!(data["points"][period].as_f64(), Some(points), "{data}");
    }
    assert_eq!(data["streaks"]["current"], 1);
    assert_eq!(data["badges"], json!(["first_session"]));
    assert_eq!(data["session_stats"]["total_sessions"], 1);
    assert_eq!(data["session_stats"]["total_minutes"], 25);
    assert_eq!(data["session_stats"]["most_productive_hour"], 9);
    assert_eq!(data["session_stats"]["favorite_category"], "coding");
    until_delivered(&system, 2).await;
    let told: Vec<String> = system
        .chat
        .messages()
        .iter()
        .map(|m| m.text().to_owned())
        .collect();
    assert_eq!(told.len(), 2, "one start and one finish: {told:?}");
    assert!(
        told[0].contains("started") && told[1].contains("finished"),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_start_path_and_the_contracts_submit_body_work() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    for path in [
        "/api/clienta_timer_start",
        "/api/clientb_timer_start",
        "/api/session/start",
    ] {
        let body = json!({"category": "study", "duration": 45, "note": path});
        let started = system
            .work
            .post(path)
            .bearer(&ada.token)
            .json(body)
            .send()
            .await
            .expect(201);
        let project = json!({"id": "none", "name": "", "type": "none"});
        assert_eq!(started.json()["presession"]["project"], project);
        let start = system.now();
        system.minutes_pass(45);
        // No session_id: the service finds the session by its locked fields.
        let body = json!({
            "category": "study", "project_id": "none", "duration": 45, "note": "done",
            "start_time": iso(start), "end_time": iso(system.now()),
        });
        let done = system.submit(&ada, body).await.expect(200).json();
        assert_eq!(done["session_id"], started.json()["session_id"], "{path}");
        assert_eq!(done["status"], "completed");
        system.minutes_pass(5);
    }
    assert_eq!(
        system.user_data(&ada).await["session_stats"]["total_minutes"],
        135
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_is_valid_in_the_work_session_area_until_it_is_revoked() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    system.user_data(&ada).await;
    system
        .identity
        .post("/api/auth/logout")
        .bearer(&ada.token)
        .send()
        .await
        .expect(200);
    let refused = system
        .work
        .get("/api/user/data")
        .bearer(&ada.token)
        .send()
        .await
        .expect(401);
    assert_eq!(refused.json(), json!({"error": "Invalid or expired token"}));
    let refused = system
        .work
        .get("/api/team-projects")
        .bearer(&ada.token)
        .send()
        .await
        .expect(401);
    assert_eq!(refused.json(), json!({"error": "Authentication required"}));

    let body = json!({"username": "ADA", "password": PASSWORD});
    let tokens = system
        .identity
        .post("/api/auth/login")
        .json(body)
        .send()
        .await
        .expect(200)
        .json();
    let again = system
        .work
        .get("/api/user/data")
        .bearer(tokens["access_token"].as_str().unwrap());
    again.send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_can_no_longer_start_on_the_teams_project() {
    let system = System::start().await;
    let (ada, bob) = (
        system.register_user("ada").await,
        system.register_user("bob").await,
    );
    let team = system.team_with_project(&ada, "engines").await;
    let refused = system
        .start_session(&bob, plan(&team.project_id()))
        .await
        .expect(403);
    let sentence = json!({"error": "Not authorized to access this team project"});
    assert_eq!(refused.json(), sentence);
    system.add_member(&ada, &team, &bob).await;
    system
        .start_session(&bob, plan(&team.project_id()))
        .await
        .expect(201);
    let path = format!("/api/teams/{}/members/bob", team.slug);
    system
        .identity
        .delete(&path)
        .bearer(&ada.token)
        .send()
        .await
        .expect(204);
    system.minutes_pass(60);
    let refused = system
        .start_session(&bob, plan(&team.project_id()))
        .await
        .expect(403);
    assert_eq!(refused.json(), sentence);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_chat_gets_its_message_later_and_one_that_is_gone_is_disabled() {
    use test_kit::ChatReply::{RetryAfter, Status};
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let team = system.team_with_project(&ada, "engines").await;
    system.connect_chat(&ada, &team, "hook").await;
    system
        .chat
        .script([Status(500), RetryAfter(429, "30".into())]);
    system.started(&ada, &team.project_id()).await;
    system.chat.next_message().await;
    // The clock stands still until the test moves it, and so does the retry.
    until_retry(&system, 1).await;
    let second = system.chat.next_message().await;
    assert_eq!(second.reply, RetryAfter(429, "30".into()));
    let waited = until_retry(&system, 2).await;
    assert!(
        waited >= chrono::TimeDelta::seconds(30),
        "not before Retry-After"
    );
    let third = system.chat.next_message().await;
    assert_eq!(third.reply, Status(200));

    system.chat.usually(Status(410));
    system.minutes_pass(30);
    system.started(&ada, &team.project_id()).await;
    system.chat.next_message().await;
    let path = format!("/api/team-projects/{}/chat", team.project);
    let limit = std::time::Duration::from_secs(15);
    let chat = wait_until("the chat to be disabled", limit, async || {
        let chat = system
            .work
            .get(&path)
            .bearer(&ada.token)
            .send()
            .await
            .expect(200)
            .json();
        (chat["chat"]["status"] == "off").then_some(chat)
    })
    .await;
    assert!(
        chat["chat"]["reason"]
            .as_str()
            .is_some_and(|reason| !reason.is_empty()),
        "{chat}"
    );
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Waits until so many chat deliveries are recorded as delivered.
async fn until_delivered(system: &System, wanted: i64) {
    let pool = system.databases[2].pool(1);
    let limit = std::time::Duration::from_secs(30);
    wait_until("the record of what was delivered", limit, async || {
        let sql = "SELECT count(*) AS number FROM deliveries WHERE medium = 'chat' AND state = 'delivered'";
        let counted =
            pool.read::<Number, DbError, _>(move |db| Ok(diesel::sql_query(sql).get_result(db)?));
        (counted.await.unwrap().number == wanted).then_some(())
    })
    .await;
}

/// Moves the clock to the retry after this many attempts, once it is recorded; returns by how much.
async fn until_retry(system: &System, attempts: i64) -> chrono::TimeDelta {
    let pool = system.databases[2].pool(1);
    let limit = std::time::Duration::from_secs(30);
    let due = wait_until("the retry to be written down", limit, async || {
        let sql = "SELECT due_at AS at FROM destinations WHERE medium = 'chat' AND lease_owner IS NULL AND EXISTS \
                   (SELECT 1 FROM deliveries WHERE medium = 'chat' AND state = 'pending' AND attempts = $1)";
        let asked = pool.read::<Option<Moment>, DbError, _>(move |db| {
            let query = diesel::sql_query(sql).bind::<BigInt, _>(attempts);
            Ok(query.get_result(db).optional()?)
        });
        asked.await.unwrap()
    })
    .await;
    let moved = due.at.and_utc() - system.now();
    // Times in rows may have fewer digits than the clock.
    system
        .clock
        .advance(moved + chrono::TimeDelta::milliseconds(1));
    moved
}
