use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use serde_json::json;
use test_kit::ApiResponse;

use crate::failing_identity::assert_unavailable;
use crate::fake_identity::EXPIRES_AT;
use crate::service_fixture::Service;

/// Method, path and required scopes; `account` needs a first-party client.
const PROTECTED: &[(&str, &str, &str)] = &[
    ("GET", "/api/projects", "sessions:read"),
    ("POST", "/api/projects", "sessions:write"),
    ("GET", "/api/projects/1", "sessions:read"),
    ("PUT", "/api/projects/1", "sessions:write"),
    ("DELETE", "/api/projects/1", "sessions:write"),
    ("GET", "/api/all-projects", "sessions:read"),
    ("GET", "/api/team-projects", "sessions:read"),
    ("POST", "/api/team-projects", "teams:write"),
    ("GET", "/api/team-projects/1", "sessions:read"),
    ("PUT", "/api/team-projects/1", "teams:write"),
    ("DELETE", "/api/team-projects/1", "teams:write"),
    (
        "GET",
        "/api/team-projects/1/activity",
        "sessions:read teams",
    ),
    ("GET", "/api/team-projects/1/chat", "sessions:read"),
    (
        "PUT",
        "/api/team-projects/1/chat",
        "integrations:write sessions:read teams",
    ),
    ("DELETE", "/api/team-projects/1/chat", "integrations:write"),
    (
        "POST",
        "/api/team-projects/1/chat/test",
        "integrations:write",
    ),
    ("GET", "/api/webhooks", "sessions:read"),
    ("POST", "/api/webhooks", "integrations:write sessions:read"),
    ("GET", "/api/webhooks/1", "sessions:read"),
    ("PUT", "/api/webhooks/1", "integrations:write sessions:read"),
    (
        "DELETE",
        "/api/webhooks/1",
        "integrations:write sessions:read",
    ),
    (
        "POST",
        "/api/webhooks/1/rotate-secret",
        "integrations:write sessions:read",
    ),
    ("GET", "/api/webhooks/1/deliveries", "sessions:read"),
    (
        "POST",
        "/api/webhooks/1/deliveries/1/replay",
        "integrations:write sessions:read",
    ),
    (
        "POST",
        "/api/webhooks/1/test",
        "integrations:write sessions:read",
    ),
    ("PUT", "/api/user/preferences", "sessions:write"),
    ("POST", "/api/clienta_timer_start", "sessions:write"),
    ("POST", "/api/clientb_timer_start", "sessions:write"),
    ("POST", "/api/session/start", "sessions:write"),
    ("GET", "/api/get_presession/1", "sessions:read"),
    ("POST", "/api/pomodoro/submit", "sessions:write"),
    ("GET", "/api/sync/status", "sessions:read"),
    ("GET", "/api/events", "sessions:read"),
    ("GET", "/api/sessions", "sessions:read"),
    ("GET", "/api/sessions/1", "sessions:read"),
    ("GET", "/api/sessions/export", "account"),
    (
        "POST",
        "/api/webhooks/1/adopt",
        "account integrations:write",
    ),
    (
        "POST",
        "/api/team-projects/1/chat/adopt",
        "account integrations:write",
    ),
    ("PATCH", "/api/sessions/1", "sessions:write"),
    ("GET", "/api/analytics/tracking", "sessions:read"),
    ("GET", "/api/leaderboard", "sessions:read"),
    (
        "GET",
        "/api/team-activity?team=engines",
        "sessions:read teams",
    ),
];

const SCOPES: [&str; 6] = [
    "account",
    "teams",
    "sessions:read",
    "sessions:write",
    "teams:write",
    "integrations:write",
];

async fn call(service: &Service, method: &str, path: &str, token: Option<&str>) -> ApiResponse {
    let call = service
        .api
        .call(method.parse().unwrap(), path)
        // The event stream refuses this header; its response would be endless.
        .header("accept", "application/json")
        .json(json!({}));
    match token {
        Some(token) => call.bearer(token).send().await,
        None => call.send().await,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_valid_token_every_endpoint_answers_401() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for (method, path, _) in PROTECTED.iter().copied() {
        for token in [None, Some("bad"), Some("")] {
            let refused = call(&service, method, path, token).await.expect(401);
            assert_eq!(
                refused.json(),
                json!({"error": "Authentication required"}),
                "{method} {path}"
            );
            assert_eq!(refused.header("www-authenticate"), "Bearer");
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_allows_what_its_scopes_name_and_nothing_else() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for (method, path, needed) in PROTECTED.iter().copied() {
        for (kind, scope) in ["user", "own"]
            .into_iter()
            .flat_map(|kind| SCOPES.map(|scope| (kind, scope)))
        {
            let token = format!("{kind}-openid+{}+profile", scope.replace(':', "."));
            let reply = call(&service, method, path, Some(&token)).await;
            let refused =
                reply.status == 403 && reply.json() == json!({"error": "Insufficient scope"});
            let is_enough = scope == needed && (kind == "own" || scope != "account");
            assert_eq!(
                refused,
                !is_enough,
                "{method} {path} with {kind} {scope}: {}",
                reply.text()
            );
        }
        let all = needed.replace(':', ".").replace(' ', "+");
        // A sign-in at the product itself names no scopes and has them all.
        let mut enough = vec![format!("own-{all}"), "user-".to_owned()];
        if !needed.contains("account") {
            enough.push(format!("user-{all}"));
        }
        for token in enough {
            let reply = call(&service, method, path, Some(&token)).await;
            assert!(
                !reply.text().contains("Insufficient"),
                "{method} {path} with {token}: {}",
                reply.text()
            );
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_checked_before_body_query_and_id() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let post = |body: &'static str| {
        service
            .api
            .post("/api/projects")
            .body("application/json", body)
    };
    for body in ["{", "[]", "\"\\u0000\"", "{\"name\": 1}"] {
        post(body).bearer("bad").send().await.expect(401);
        post(body).bearer("user-").send().await.expect(400);
    }
    for path in [
        "/api/projects?archived=maybe",
        "/api/team-projects?archived=1e3",
    ] {
        service.api.get(path).bearer("bad").send().await.expect(401);
        service
            .api
            .get(path)
            .bearer("user-")
            .send()
            .await
            .expect(400);
    }
    for id in ["0", "-1", "0042", "1e3", "9223372036854775808", "x", "%20"] {
        let path = format!("/api/projects/{id}");
        service
            .api
            .get(&path)
            .bearer("bad")
            .send()
            .await
            .expect(401);
        let missing = service
            .api
            .get(&path)
            .bearer("user-")
            .send()
            .await
            .expect(404);
        assert_eq!(
            missing.json(),
            json!({"error": "Project not found"}),
            "{path}"
        );
        let path = format!("/api/team-projects/{id}");
        let missing = service
            .api
            .get(&path)
            .bearer("user-")
            .send()
            .await
            .expect(404);
        assert_eq!(
            missing.json(),
            json!({"error": "Team project not found"}),
            "{path}"
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_data_answers_403_without_a_token_and_401_with_an_invalid_one() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let path = "/api/user/data";
    let missing = service.api.get(path).send().await.expect(403);
    assert_eq!(missing.json(), json!({"error": "Token required"}));
    let other_scheme = service
        .api
        .get(path)
        .header("authorization", "Basic YTpi")
        .send()
        .await;
    assert_eq!(
        other_scheme.expect(403).json(),
        json!({"error": "Token required"})
    );
    for token in ["bad", "", "a b"] {
        let refused = service.api.get(path).bearer(token).send().await.expect(401);
        assert_eq!(refused.json(), json!({"error": "Invalid or expired token"}));
    }
    let twice = service
        .api
        .get(path)
        .bearer("user-")
        .bearer("user-")
        .send()
        .await
        .expect(401);
    assert_eq!(twice.json(), json!({"error": "Invalid or expired token"}));
    let refused = service
        .api
        .get(path)
        .bearer("user-sessions.write")
        .send()
        .await
        .expect(403);
    assert_eq!(refused.json(), json!({"error": "Insufficient scope"}));
    service
        .api
        .get(path)
        .bearer("user-sessions.read")
        .send()
        .await
        .expect(200);
    assert_unavailable(&service.api.get(path).bearer("broken").send().await);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_response_of_the_identity_service_causes_a_503() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for token in [
        "broken",
        "anonymous",
        "500",
        "503",
        "429",
        "404",
        "302",
        "204",
    ] {
        let reply = service.api.get("/api/projects").bearer(token).send().await;
        assert_unavailable(&reply);
        // A valid response in between keeps the breaker closed.
        let good = service.api.get("/api/projects").bearer("user-");
        good.send().await.expect(200);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_validates_its_token_unless_a_valid_result_may_be_cached() {
    let (service, identity) = Service::with_fake_identity(0).await;
    for _ in 0..3 {
        service
            .api
            .get("/api/projects")
            .bearer("user-")
            .send()
            .await
            .expect(200);
    }
    assert_eq!(identity.validation_count(), 3);
    service.stop().await;

    let (service, identity) = Service::with_fake_identity(1_000).await;
    let request = |token: &'static str| service.api.get("/api/projects").bearer(token).send();
    for _ in 0..3 {
        request("user-").await.expect(200);
        request("bad").await.expect(401);
    }
    assert_eq!(
        identity.validation_count(),
        1 + 3,
        "only valid results are cached"
    );
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    request("user-").await.expect(200);
    assert_eq!(
        identity.validation_count(),
        1 + 3 + 1,
        "for a second at most"
    );
    // Never past the token's expiry: the cached result is recent, but the token has just expired.
    service
        .clock
        .set(DateTime::from_timestamp(EXPIRES_AT, 0).unwrap() - TimeDelta::seconds(1));
    request("user-").await.expect(200);
    assert_eq!(identity.validation_count(), 1 + 3 + 1);
    service.clock.advance(TimeDelta::seconds(1));
    request("user-").await.expect(200);
    assert_eq!(identity.validation_count(), 1 + 3 + 2);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_id_is_forwarded_to_the_identity_service() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let call = service
        .api
        .get("/api/projects")
        .bearer("user-")
        .header("x-request-id", "trace-42");
    assert_eq!(
        call.send().await.expect(200).header("x-request-id"),
        "trace-42"
    );
    assert_eq!(*identity.request_ids.lock().unwrap(), ["trace-42"]);
    service.stop().await;
}
