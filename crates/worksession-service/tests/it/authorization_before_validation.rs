//! Authorization comes before validation: 401 and 403 before 400.

use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::caller::Caller;
use crate::service_fixture::Service;
use crate::webhook_fixture::{create_webhook, path_of};

/// Creates a webhook and a project of the team Engines.
async fn create_webhook_and_project(service: &Service) -> (String, i64) {
    let owner = Caller::member(service, 7);
    let webhook = json!({"url": "https://hooks.example/x", "team_id": 3});
    let (webhook, _) = create_webhook(&owner, webhook).await;
    (path_of(&webhook), service.team_project().await)
}

fn assert_refused(reply: ApiResponse, status: u16, error: &str) {
    assert_eq!(reply.expect(status).json(), json!({ "error": error }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integration_change_without_permission_is_refused_whatever_the_body() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (webhook, project) = create_webhook_and_project(&service).await;
    let chat = format!("/api/team-projects/{project}/chat");
    let colleague = Caller::colleague(&service, 9);
    let outsider = Caller::outsider(&service, 10);
    let bodies = [
        json!({"url": 7, "provider": 7, "webhook_url": []}),
        json!({"url": "nothing", "events": ["nothing"], "provider": "nothing"}),
        json!({}),
    ];
    for body in &bodies {
        assert_refused(
            colleague.put(&webhook, body.clone()).await,
            403,
            "Not authorized to manage this team's webhooks",
        );
        assert_refused(
            outsider.put(&webhook, body.clone()).await,
            404,
            "Webhook not found",
        );
        for who in [&colleague, &outsider] {
            assert_refused(
                who.put(&chat, body.clone()).await,
                403,
                "Not authorized to change this team project",
            );
        }
    }
    for path in [&webhook, &chat] {
        let no_json = || service.api.put(path).body("application/json", "{");
        assert_refused(
            no_json().bearer("nobody").send().await,
            401,
            "Authentication required",
        );
        let of_colleague = no_json().bearer(&colleague.token).send().await;
        assert_eq!(of_colleague.status, 403, "{path}");
        // Callers with permission get the validation error.
        no_json().bearer("member-7").send().await.expect(400);
        let owner = Caller::member(&service, 7);
        owner.put(path, bodies[0].clone()).await.expect(400);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_without_permission_is_refused_whatever_the_query() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (webhook, project) = create_webhook_and_project(&service).await;
    let deliveries = format!("{webhook}/deliveries");
    let activity = format!("/api/team-projects/{project}/activity");
    let board = "/api/leaderboard?team=engines".to_owned();
    let others_board = "/api/leaderboard?team=others".to_owned();
    let colleague = Caller::colleague(&service, 9);
    let outsider = Caller::outsider(&service, 10);
    let foreign = "Not authorized to access this team's leaderboard";
    let cases: [(&Caller<'_>, &String, u16, &str); 5] = [
        (
            &colleague,
            &deliveries,
            403,
            "Not authorized to manage this team's webhooks",
        ),
        (&outsider, &deliveries, 404, "Webhook not found"),
        (
            &outsider,
            &activity,
            403,
            "Not authorized to access this team project",
        ),
        (&outsider, &board, 403, foreign),
        (&colleague, &others_board, 403, foreign),
    ];
    for query in ["limit=0", "limit=ten", "cursor=%21", "limit=201&cursor=x"] {
        let with = |path: &str| {
            format!(
                "{path}{}{query}",
                if path.contains('?') { '&' } else { '?' }
            )
        };
        for (who, path, status, error) in &cases {
            assert_refused(who.get(&with(path)).await, *status, error);
        }
        let owner = Caller::member(&service, 7);
        for path in [&deliveries, &activity, &board] {
            let path = with(path);
            let refusal: Value = owner.get(&path).await.expect(400).json();
            assert!(refusal["error"].is_string(), "{path}: {refusal}");
            let nobody = service.api.get(&path).bearer("nobody").send().await;
            assert_refused(nobody, 401, "Authentication required");
        }
    }
    service.stop().await;
}
