//! The activity summary of a team, as its members see it.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::caller::{Caller, honest};
use crate::service_fixture::Service;

const TEAM: &str = "/api/team-activity?team=engines";

async fn get_activity(caller: &Caller<'_>, query: &str) -> Value {
    caller
        .get(&format!("{TEAM}{query}"))
        .await
        .expect(200)
        .json()
}

fn plan(project: &str, minutes: i64) -> Value {
    json!({"category": "coding", "duration": minutes, "note": "not shown here", "project_id": project})
}

/// Starts a session, works as long as planned and submits it.
async fn work_on(caller: &Caller<'_>, service: &Service, project: &str, minutes: i64) {
    let started = caller.start(plan(project, minutes)).await;
    service.clock.advance(TimeDelta::minutes(minutes));
    caller.submit(honest(&started, service)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_see_who_is_working_and_what_each_has_planned_and_finished() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, bob) = (Caller::member(&service, 7), Caller::colleague(&service, 8));
    let (first, second) = (ada.team_project().await, ada.team_project().await);
    let empty = get_activity(&bob, "").await;
    assert_eq!(
        (&empty["members"], &empty["running"]),
        (&json!([]), &json!([]))
    );

    work_on(&ada, &service, &first, 30).await;
    work_on(&bob, &service, &second, 60).await;
    // A session without a project does not count.
    work_on(&bob, &service, "none", 45).await;
    let open = ada.start(plan(&second, 25)).await;
    bob.start(plan("none", 25)).await;
    service.clock.advance(TimeDelta::minutes(1));

    let team = get_activity(&bob, "").await;
    let member = |id: i64, sessions: i64, planned: i64, credited: i64| {
        json!({
            "user": {"id": id, "username": format!("person{id}")}, "sessions": sessions,
            "planned_minutes": planned, "credited_minutes": credited,
        })
    };
    assert_eq!(
        team["members"],
        json!([member(8, 1, 60, 60), member(7, 2, 55, 30)])
    );
    let name = ada
        .get(&format!(
            "/api/team-projects/{}",
            second.trim_start_matches("team_")
        ))
        .await
        .expect(200)
        .json()["name"]
        .clone();
    assert_eq!(
        team["running"],
        json!([{
            "session_id": open["session_id"], "user": {"id": 7, "username": "person7"},
            "project": {"id": second, "name": name}, "category": "coding", "planned_duration": 25,
            "started_at": open["started_at"], "expected_end_at": open["expected_end_at"],
        }])
    );
    assert_eq!(team["team"]["slug"], "engines");
    assert_eq!(team["since"], "2026-11-16T11:16:00Z");
    assert!(!team.to_string().contains("not shown here"));

    // A session from before `since` does not count. One past its planned end does not run, submitted or not.
    let since = open["started_at"].as_str().unwrap();
    let team = get_activity(&bob, &format!("&since={since}")).await;
    assert_eq!(team["members"], json!([member(7, 1, 25, 0)]));
    service.clock.advance(TimeDelta::minutes(24));
    assert_eq!(get_activity(&bob, "").await["running"], json!([]));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn non_members_are_refused_and_since_is_bounded() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let outsider = Caller::outsider(&service, 10);
    let foreign = json!({"error": "Not authorized to access this team's activity"});
    for (who, path) in [
        (&outsider, TEAM),
        (&outsider, "/api/team-activity?team=engines&since=never"),
        (&ada, "/api/team-activity?team=nowhere"),
        (&ada, "/api/team-activity"),
    ] {
        let refused = who.get(path).await.expect(403);
        assert_eq!(refused.json(), foreign, "{path}");
    }
    let invalid = json!({"error": "since must be a time within the last 31 days"});
    for (since, status) in [
        ("2026-10-23T09:00:00Z", 200),
        ("2026-11-23T09:00:00Z", 200),
        ("2026-10-23T08:58:00Z", 400),
        ("2026-11-23T09:00:01Z", 400),
        ("", 200),
        ("2026-11-20", 400),
    ] {
        let reply = ada.get(&format!("{TEAM}&since={since}")).await;
        let reply = reply.expect(status);
        if status == 400 {
            assert_eq!(reply.json(), invalid, "{since}");
        }
    }
    service.stop().await;
}
