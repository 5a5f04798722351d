//! The activity on a team project, as the team's members see it.

use broker::{Broker, PublishOutcome};
use chrono::{DateTime, TimeDelta, Utc};
use event_types::{
    EventData, Notification, NotificationDelivered, NotificationFailed, NotificationSkipped,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::caller::{Caller, changed, honest, session_events};
use crate::database::execute;
use crate::fake_notifier::{publish, start_service};
use crate::past_sessions::{PastSession, insert_sessions};
use crate::service_fixture::Service;

async fn get_activity(caller: &Caller<'_>, project: &str, query: &str) -> Value {
    let id = project.trim_start_matches("team_");
    let path = format!("/api/team-projects/{id}/activity?{query}");
    caller.get(&path).await.expect(200).json()
}

fn ids(page: &Value) -> Vec<String> {
    let entries = page["activity"].as_array().unwrap().iter();
    entries
        .map(|entry| entry["session_id"].as_str().unwrap().to_owned())
        .collect()
}

async fn report<T: EventData>(broker: &Broker, data: &T) {
    assert_eq!(
        publish(broker, Uuid::now_v7(), data).await,
        PublishOutcome::Confirmed
    );
}

/// Returns the ids of a start's event and session.
fn event_and_session(service: &Service, started: &Value) -> (Uuid, Uuid) {
    let event = &session_events(service, "session.started.v1", &started["session_id"])[0];
    let id = |value: &Value| value.as_str().unwrap().parse().unwrap();
    (id(&event["id"]), id(&started["session_id"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn members_see_each_others_sessions_and_notification_outcomes() {
    let (service, broker) = start_service().await;
    let (ada, bob) = (Caller::member(&service, 7), Caller::member(&service, 8));
    let project = ada.team_project().await;
    let plan =
        json!({"category": "coding", "duration": 25, "note": "the plan", "project_id": project});
    let first = ada.start(plan.clone()).await;
    service.clock.advance(TimeDelta::minutes(25));
    let body = changed(
        honest(&first, &service),
        &json!({"note": "what only Ada knows"}),
    );
    ada.submit(body).await.expect(200);
    let second = bob.start(plan.clone()).await;
    service.clock.advance(TimeDelta::minutes(1));
    let third = ada
        .start(changed(plan, &json!({"category": "design"})))
        .await;
    // A session on another project and one without a project do not count.
    let other =
        json!({"category": "coding", "duration": 25, "project_id": bob.team_project().await});
    bob.start(other).await;
    Caller::member(&service, 9).start_coding().await;

    let at: DateTime<Utc> = "2026-11-23T09:30:00Z".parse().unwrap();
    let project_id = project.trim_start_matches("team_").parse().ok();
    let (event_id, session_id) = event_and_session(&service, &first);
    let reason = "It answered 500".to_owned();
    let failed = NotificationFailed {
        notification: Notification {
            about: "session.started.v1".to_owned(),
            also: Vec::new(),
            event_id,
            session_id,
            project_id,
            at,
        },
        reason,
    };
    report(&broker, &failed).await;
    let (event_id, session_id) = event_and_session(&service, &second);
    let reason = "No chat is configured".to_owned();
    report(
        &broker,
        &NotificationSkipped {
            notification: Notification {
                about: "session.started.v1".to_owned(),
                also: Vec::new(),
                event_id,
                session_id,
                project_id,
                at,
            },
            reason,
        },
    )
    .await;

    let page = get_activity(&bob, &project, "").await;
    let entry = json!({
        "session_id": first["session_id"],
        "user": {"id": 7, "username": "person7"},
        "category": "coding",
        "planned_duration": 25,
        "planning_note": "the plan",
        "status": "completed",
        "started_at": "2026-11-23T09:00:00Z",
        "expected_end_at": "2026-11-23T09:25:00Z",
        "ended_at": "2026-11-23T09:25:00Z",
        "credited_minutes": 25,
        "notification": {"outcome": "failed", "reason": "It answered 500", "at": "2026-11-23T09:30:00Z"},
    });
    let skipped = json!({"outcome": "skipped", "reason": "No chat is configured", "at": "2026-11-23T09:30:00Z"});
    let expected = json!([
        {
            "session_id": third["session_id"],
            "user": {"id": 7, "username": "person7"},
            "category": "design",
            "planned_duration": 25,
            "planning_note": "the plan",
            "status": "running",
            "started_at": "2026-11-23T09:26:00Z",
            "expected_end_at": "2026-11-23T09:51:00Z",
            "ended_at": null,
            "credited_minutes": 0,
            "notification": null,
        },
        {
            "session_id": second["session_id"],
            "user": {"id": 8, "username": "person8"},
            "category": "coding",
            "planned_duration": 25,
            "planning_note": "the plan",
            "status": "awaiting_submit",
            "started_at": "2026-11-23T09:25:00Z",
            "expected_end_at": "2026-11-23T09:50:00Z",
            "ended_at": "2026-11-23T09:26:00Z",
            "credited_minutes": 0,
            "notification": skipped,
        },
        entry,
    ]);
    assert_eq!(
        page,
        json!({"success": true, "activity": expected, "next_cursor": null})
    );
    assert!(!page.to_string().contains("what only Ada knows"));

    // The latest outcome counts: the message was sent again and delivered.
    let (event_id, session_id) = event_and_session(&service, &first);
    let at = at + TimeDelta::hours(1);
    report(
        &broker,
        &NotificationDelivered {
            notification: Notification {
                about: "session.started.v1".to_owned(),
                also: Vec::new(),
                event_id,
                session_id,
                project_id,
                at,
            },
        },
    )
    .await;
    let page = get_activity(&ada, &project, "").await;
    let delivered = json!({"outcome": "delivered", "reason": null, "at": "2026-11-23T10:30:00Z"});
    assert_eq!(page["activity"][2]["notification"], delivered);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_members_see_the_activity_even_of_a_public_or_archived_project() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, eve) = (Caller::member(&service, 7), Caller::outsider(&service, 8));
    let body = json!({"team_id": 3, "name": "Open", "is_public": true});
    let made = ada
        .post("/api/team-projects", body)
        .await
        .expect(201)
        .json();
    let path = format!("/api/team-projects/{}", made["id"]);
    eve.get(&path).await.expect(200);
    let list = format!("{path}/activity");
    let refused = eve.get(&list).await.expect(403).json();
    assert_eq!(
        refused,
        json!({"error": "Not authorized to access this team project"})
    );
    for id in ["999999", "0", "x", "team_1"] {
        let path = format!("/api/team-projects/{id}/activity");
        for caller in [&ada, &eve] {
            let missing = caller.get(&path).await.expect(404).json();
            assert_eq!(missing, json!({"error": "Team project not found"}), "{id}");
        }
    }
    for (query, sentence) in [
        ("limit=0", "limit must be 1 to 200"),
        ("limit=201", "limit must be 1 to 200"),
        ("limit=x", "The parameter limit must be a whole number"),
        ("cursor=x", "cursor is not valid"),
    ] {
        let refused = ada.get(&format!("{list}?{query}")).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    let plan =
        json!({"category": "coding", "duration": 25, "project_id": format!("team_{}", made["id"])});
    ada.start(plan).await;
    service
        .api
        .delete(&path)
        .bearer(&ada.token)
        .send()
        .await
        .expect(204);
    let page = ada.get(&list).await.expect(200).json();
    assert_eq!(page["activity"].as_array().unwrap().len(), 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn activity_pages_are_contiguous() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let project = ada.team_project().await;
    // Five sessions at each instant, of two members, between those of another project.
    let sessions: Vec<PastSession> = (0..530)
        .map(|n| PastSession {
            started_at: PastSession::nth(n / 5).started_at,
            user: if n % 3 == 0 { 7 } else { 8 },
            project: if n % 2 == 0 {
                project.clone()
            } else {
                "team_999".to_owned()
            },
            ..PastSession::nth(n)
        })
        .collect();
    insert_sessions(&service, &sessions);
    execute(
        &service,
        &format!(
            "INSERT INTO notifications (event_id, session_id, outcome, settled_at) VALUES \
             ('a', '{id}', 'failed', '2020-01-01 00:00:00'), ('b', '{id}', 'delivered', '2020-01-01 00:00:01')",
            id = sessions[528].id
        ),
    );
    let expected: Vec<&String> = sessions
        .iter()
        .rev()
        .skip(1)
        .step_by(2)
        .map(|past| &past.id)
        .collect();
    for size in [50, 1, 7, 200] {
        let (mut read, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = get_activity(&ada, &project, &format!("limit={size}&cursor={cursor}")).await;
            read.extend(ids(&page));
            match page["next_cursor"].as_str() {
                Some(next) => {
                    assert_eq!(ids(&page).len(), size);
                    next.clone_into(&mut cursor);
                }
                None => break,
            }
        }
        // Two outcomes for one session do not make two entries.
        assert_eq!(read.iter().collect::<Vec<_>>(), expected, "{size}");
    }
    let first = get_activity(&ada, &project, "limit=1").await;
    assert_eq!(first["activity"][0]["notification"]["outcome"], "delivered");
    service.stop().await;
}
