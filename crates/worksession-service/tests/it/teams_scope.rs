//! An OAuth client sees what others do only if it has the scope `teams`.

use serde_json::{Value, json};

use crate::caller::Caller;
use crate::event_stream_client::StreamClient;
use crate::service_fixture::Service;
use crate::webhook_fixture::{create_webhook, path_of};

const WITHOUT_TEAMS: &str =
    "user-sessions.read+sessions.write+integrations.write+teams.write+profile";
/// The id of no delivery.
const DELIVERY: &str = "019a0000-0000-7000-8000-000000000001";
const WITH_TEAMS: &str = "user-sessions.read+integrations.write+teams";

/// Returns the caller with this token.
fn caller_with<'a>(service: &'a Service, token: &str) -> Caller<'a> {
    Caller {
        service,
        token: token.to_owned(),
    }
}

fn insufficient_scope() -> Value {
    json!({"error": "Insufficient scope"})
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_the_activity_of_team_members_needs_the_teams_scope() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let bob = Caller::colleague(&service, 8);
    let project = service.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "note": "bob's plan", "project_id": format!("team_{project}")});
    bob.start(plan).await;
    let (narrow, wide) = (
        caller_with(&service, WITHOUT_TEAMS),
        caller_with(&service, WITH_TEAMS),
    );
    for path in [
        format!("/api/team-projects/{project}/activity"),
        "/api/team-activity?team=engines".to_owned(),
        "/api/leaderboard?period=week&team=engines".to_owned(),
        "/api/leaderboard?period=week&team=nowhere".to_owned(),
    ] {
        let refused = narrow.get(&path).await.expect(403);
        assert_eq!(refused.json(), insufficient_scope(), "{path}");
        let answer = wide.get(&path).await;
        assert!(!answer.text().contains("Insufficient"), "{path}");
        assert_eq!(answer.status == 200, !path.contains("nowhere"), "{path}");
    }
    let path = format!("/api/team-projects/{project}/activity");
    assert!(wide.get(&path).await.text().contains("bob's plan"));
    // The caller's own data does not need the scope, nor do the projects on which the caller may start.
    let plan =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    narrow.start(plan).await;
    for path in [
        "/api/sessions".to_owned(),
        "/api/leaderboard?period=week".to_owned(),
        "/api/all-projects".to_owned(),
        "/api/team-projects".to_owned(),
        format!("/api/team-projects/{project}"),
        "/api/sync/status".to_owned(),
        "/api/analytics/tracking".to_owned(),
    ] {
        let answer = narrow.get(&path).await.expect(200);
        assert!(!answer.text().contains("bob"), "{path}: {}", answer.text());
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_of_a_team_need_the_teams_scope() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (narrow, wide) = (
        caller_with(&service, WITHOUT_TEAMS),
        caller_with(&service, WITH_TEAMS),
    );
    let url = "https://hooks.example/x";
    let of_team = json!({"url": url, "team_id": 3});
    let refused = narrow.post("/api/webhooks", of_team.clone()).await;
    assert_eq!(refused.expect(403).json(), insufficient_scope());
    // A team of others counts as unknown, whatever the scopes.
    let elsewhere = json!({"url": url, "team_id": 4});
    narrow.post("/api/webhooks", elsewhere).await.expect(404);
    let (of_team, _) = create_webhook(&wide, of_team).await;
    let (own, _) = create_webhook(&narrow, json!({"url": url})).await;
    let listed = |answer: Value| {
        let all = answer["webhooks"].as_array().unwrap().clone();
        all.iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    let all = narrow.get("/api/webhooks").await.expect(200).json();
    assert_eq!(listed(all), [own["id"].clone()]);
    let all = wide.get("/api/webhooks").await.expect(200).json();
    assert_eq!(listed(all), [own["id"].clone(), of_team["id"].clone()]);
    for (webhook, is_refused) in [(&of_team, true), (&own, false)] {
        let path = path_of(webhook);
        for reply in [
            narrow.get(&path).await,
            narrow.get(&format!("{path}/deliveries")).await,
            narrow.put(&path, json!({"description": "x"})).await,
            narrow.post(&format!("{path}/test"), json!({})).await,
            narrow
                .post(&format!("{path}/rotate-secret"), json!({}))
                .await,
            narrow
                .post(&format!("{path}/deliveries/{DELIVERY}/replay"), json!({}))
                .await,
            narrow.delete(&path).await,
        ] {
            let refused = reply.status == 403 && reply.json() == insufficient_scope();
            assert_eq!(refused, is_refused, "{}: {}", reply.call, reply.text());
        }
    }
    wide.get(&path_of(&of_team)).await.expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_the_teams_scope_sends_only_own_events() {
    let (service, _identity) = Service::with_event_stream(json!({"recheck_seconds": 1})).await;
    let (ada, bob) = (
        caller_with(&service, "user-"),
        Caller::colleague(&service, 8),
    );
    let project = service.team_project().await;
    let mut narrow = StreamClient::open(&service.api, WITHOUT_TEAMS).await;
    let mut wide = StreamClient::open(&service.api, WITH_TEAMS).await;
    let before = narrow.last_id.clone();
    let plan =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{project}")});
    bob.start(plan.clone()).await;
    assert_eq!(wide.expect("team").await["user"]["username"], "person8");
    let own = ada.start(plan).await["session_id"].clone();
    assert_eq!(narrow.expect("timer").await["session"]["session_id"], own);
    let ended = ada.post(
        "/api/session/start",
        json!({"category": "coding", "duration": 50}),
    );
    let next = ended.await.expect(201).json()["session_id"].clone();
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(narrow.expect("timer").await["session"]["session_id"].clone());
    }
    assert!(ids.contains(&own) && ids.contains(&next), "{ids:?}");
    // Nor are team events replayed after an interruption.
    let mut resumed = StreamClient::resume(&service.api, WITHOUT_TEAMS, before.as_deref()).await;
    let mut again = Vec::new();
    while !again.contains(&next) {
        let (event, data) = resumed.next_event().await.unwrap();
        assert!(event != "team", "{data}");
        again.push(data["session"]["session_id"].clone());
    }
    service.stop().await;
}
