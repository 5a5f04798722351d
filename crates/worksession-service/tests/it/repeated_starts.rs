//! A repeated start gets the response of the first one, even where a new start would be refused.

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::caller::{Caller, changed, honest};
use crate::service_fixture::Service;

impl Caller<'_> {
    async fn start_keyed(&self, key: &str, body: &Value) -> ApiResponse {
        let call = self.service.api.post("/api/session/start");
        let call = call.bearer(&self.token).header("idempotency-key", key);
        call.json(body.clone()).send().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_returns_the_first_one_after_its_project_was_archived() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let team = ada.team_project().await;
    let made = ada.post("/api/projects", json!({"name": "Diary"})).await;
    let own = format!("personal_{}", made.expect(201).json()["project"]["id"]);
    for (project, path) in [
        (
            &team,
            format!("/api/team-projects/{}", team.trim_start_matches("team_")),
        ),
        (
            &own,
            format!("/api/projects/{}", own.trim_start_matches("personal_")),
        ),
    ] {
        let plan = json!({"category": "coding", "duration": 25, "project_id": project});
        let first = ada.start_keyed(project, &plan).await.expect(201).json();
        ada.delete(&path).await.expect(204);
        let again = ada.start_keyed(project, &plan).await.expect(200).json();
        assert_eq!(again, first);
        // Without a key, the same plan a moment later is the same start.
        let again = ada.post("/api/session/start", plan.clone()).await;
        assert_eq!(again.expect(200).json(), first);
        let other = changed(plan.clone(), &json!({"duration": 30}));
        let refused = ada.start_keyed(project, &other).await.expect(422).json();
        let error = "Idempotency-Key was used with another request";
        assert_eq!(refused, json!({ "error": error }));

        // A new start is refused as always.
        service.clock.advance(TimeDelta::seconds(11));
        let archived = json!({"error": "Project is archived"});
        let refused = ada.start_keyed("another", &plan).await;
        assert_eq!(refused.expect(409).json(), archived);
        let refused = ada.post("/api/session/start", plan.clone()).await;
        assert_eq!(refused.expect(409).json(), archived);
        let bob = Caller::member(&service, 8);
        let others = bob.start_keyed(project, &plan).await;
        let known = *project == team;
        assert_eq!(others.status, if known { 409 } else { 404 });

        // Once the session is submitted, the key would start a new one.
        service.clock.advance(TimeDelta::minutes(25));
        ada.submit(honest(&first, &service)).await.expect(200);
        let refused = ada.start_keyed(project, &plan).await;
        assert_eq!(refused.expect(409).json(), archived);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_returns_the_first_one_after_leaving_the_team() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let ada = Caller::member(&service, 7);
    let project = ada.team_project().await;
    let plan = json!({"category": "coding", "duration": 25, "project_id": project});
    let first = ada.start_keyed("one", &plan).await.expect(201).json();
    identity.answer_like(&ada.token, "outsider-7");
    let again = ada.start_keyed("one", &plan).await.expect(200).json();
    assert_eq!(again, first);
    ada.start_keyed("two", &changed(plan, &json!({"duration": 30})))
        .await
        .expect(403);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_start_returns_the_first_one_beyond_the_rate_limit() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let plan = json!({"category": "coding", "duration": 25});
    let first = ada.start_keyed("one", &plan).await.expect(201).json();
    let mut starts = 1;
    let refused = loop {
        let other = json!({"category": "study", "duration": 25, "note": starts.to_string()});
        let reply = ada.post("/api/session/start", other).await;
        if reply.status != 201 {
            break reply.expect(429);
        }
        starts += 1;
        assert!(starts <= 130, "there is a limit");
    };
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    let again = ada.start_keyed("one", &plan).await.expect(200).json();
    assert_eq!(again, first);
    let other = changed(plan.clone(), &json!({"duration": 30}));
    ada.start_keyed("one", &other).await.expect(422);
    ada.start_keyed("two", &other).await.expect(429);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_is_valid_for_24_hours_and_for_its_own_user() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (ada, bob) = (Caller::outsider(&service, 7), Caller::outsider(&service, 8));
    let long = json!({"category": "coding", "duration": 480});
    let other = json!({"category": "coding", "duration": 25});
    let first = ada.start_keyed("key", &long).await.expect(201).json();
    // It is valid on every start path, and for this user only.
    let call = service
        .api
        .post("/api/clienta_timer_start")
        .bearer(&ada.token);
    let again = call
        .header("idempotency-key", "key")
        .json(long.clone())
        .send()
        .await;
    assert_eq!(again.expect(200).json(), first);
    bob.start_keyed("key", &other).await.expect(201);
    // The session is open until twelve hours after its planned end.
    service
        .clock
        .advance(TimeDelta::hours(20) - TimeDelta::seconds(1));
    assert_eq!(
        ada.start_keyed("key", &long).await.expect(200).json(),
        first
    );
    service.clock.advance(TimeDelta::hours(4));
    let refused = ada.start_keyed("key", &other).await.expect(422).json();
    assert_eq!(
        refused,
        json!({"error": "Idempotency-Key was used with another request"})
    );
    service.clock.advance(TimeDelta::seconds(1));
    let next = ada.start_keyed("key", &other).await.expect(201).json();
    assert_ne!(next["session_id"], first["session_id"]);
    service.stop().await;
}
