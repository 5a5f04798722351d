use chrono::Duration;
use serde_json::json;

use crate::forged_tokens::decoded;
use crate::provider_fixture::Provider;
use crate::support::{beginning, signed_in};

#[tokio::test(flavor = "multi_thread")]
async fn introspection_describes_the_clients_own_tokens() {
    let provider = Provider::start().await;
    let client = json!({ "name": "App", "scope": "openid teams" });
    let client = provider.register(client).await;
    let ada = provider.identity.register("Ada").await;
    let given = provider.given("Ada", &client, "openid teams").await;
    let base = provider.identity.running.base_url();
    let now = beginning().timestamp();
    assert_eq!(
        provider.introspect(&client, &given.access).await,
        json!({
            "active": true,
            "scope": "openid teams",
            "client_id": client.id,
            "username": "Ada",
            "token_type": "Bearer",
            "exp": now + 2_592_000,
            "iat": now,
            "nbf": now,
            "sub": ada.id.to_string(),
            "aud": base,
            "iss": base,
            "jti": decoded(&given.access, 1)["jti"],
            "groups": [],
        })
    );
    let refresh_token = json!({
        "active": true,
        "scope": "openid teams",
        "client_id": client.id,
        "username": "Ada",
        "token_type": "refresh_token",
        "exp": now + 90 * 86_400,
        "iat": now,
        "sub": ada.id.to_string(),
        "iss": base,
    });
    assert_eq!(
        provider.introspect(&client, &given.refresh).await,
        refresh_token
    );
    // The token type hint changes nothing.
    for hint in ["access_token", "refresh_token", "nonsense"] {
        let fields = [("token", given.refresh.as_str()), ("token_type_hint", hint)];
        let call = provider.ask(&client, "/api/oauth/introspect", &fields);
        assert_eq!(
            call.send().await.expect(200).json(),
            refresh_token,
            "{hint}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_of_tokens_of_others_requires_permission() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let other = provider.confidential().await;
    let resource = json!({ "name": "API", "may_introspect_any": true });
    let resource = provider.register(resource).await;
    let own = provider.identity.register("ada").await;
    let given = provider.given("ada", &other, "openid").await;
    for token in [&own.access, &own.refresh, &given.access, &given.refresh] {
        let told = provider.introspect(&client, token).await;
        assert_eq!(told, json!({ "active": false }));
        let told = provider.introspect(&resource, token).await;
        assert_eq!(
            (&told["active"], &told["username"]),
            (&json!(true), &json!("ada"))
        );
    }
    let told = provider.introspect(&resource, &own.access).await;
    assert!(
        told.get("scope").is_none() && told.get("client_id").is_none(),
        "{told}"
    );
    let told = provider.introspect(&resource, &given.access).await;
    assert_eq!(
        (&told["client_id"], &told["scope"]),
        (&json!(other.id), &json!("openid"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_of_an_invalid_token_returns_only_inactive() {
    let provider = Provider::start().await;
    let resource = json!({ "name": "API", "may_introspect_any": true });
    let resource = provider.register(resource).await;
    let identity = &provider.identity;
    let dead = async |token: &str| {
        let told = provider.introspect(&resource, token).await;
        assert_eq!(told, json!({ "active": false }), "{token}");
    };
    let ada = identity.register("ada").await;
    for token in [
        "x",
        "a.b.c",
        "eyJhbGciOiJub25lIn0.e30.",
        &"x".repeat(20_000),
        &format!("{}x", ada.access),
        &ada.refresh.to_uppercase(),
        &resource.secret,
    ] {
        dead(token).await;
    }
    // Rotated: the previous refresh token is inactive.
    let next = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    dead(&ada.refresh).await;
    let told = provider.introspect(&resource, &next.refresh).await;
    assert_eq!(told["active"], json!(true));
    // Signed out.
    let logout = identity.api.post("/api/auth/logout").bearer(&next.access);
    logout.send().await.expect(200);
    for token in [&ada.access, &next.access, &next.refresh] {
        dead(token).await;
    }
    // Deactivated.
    let bob = identity.register("bob").await;
    let path = format!("/api/admin/users/{}", bob.id);
    let call = identity.api.call(reqwest::Method::PATCH, &path);
    let call = call.bearer(&provider.admin.access);
    call.json(json!({ "is_active": false }))
        .send()
        .await
        .expect(200);
    for token in [&bob.access, &bob.refresh] {
        dead(token).await;
    }
    // Expired.
    let carol = identity.register("carol").await;
    identity.hand.advance(Duration::days(30));
    dead(&carol.access).await;
    let told = provider.introspect(&resource, &carol.refresh).await;
    assert_eq!(told["active"], json!(true));
    identity.hand.advance(Duration::days(60));
    dead(&carol.refresh).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_introspection_is_invalidated_and_is_per_client() {
    let provider = Provider::start().await;
    let resource = json!({ "name": "API", "may_introspect_any": true });
    let resource = provider.register(resource).await;
    let identity = &provider.identity;
    let told = async |token: &str| provider.introspect(&resource, token).await;
    let (ours, others) = (provider.confidential().await, provider.confidential().await);
    identity.register("carol").await;
    let given = provider.given("carol", &ours, "openid").await;
    identity.remembers(&given.access).await;
    for _ in 0..2 {
        let to_owner = provider.introspect(&ours, &given.access).await;
        assert_eq!(to_owner["active"], json!(true));
        let to_other = provider.introspect(&others, &given.access).await;
        assert_eq!(to_other, json!({ "active": false }));
    }
    let (ada, bob) = (
        identity.register("ada").await,
        identity.register("bob").await,
    );
    for access in [&ada.access, &bob.access] {
        let before = told(access).await;
        assert_eq!(before["active"], json!(true));
        assert_eq!(told(access).await, before);
        let to_other = provider.introspect(&others, access).await;
        assert_eq!(to_other, json!({ "active": false }));
    }
    let logout = identity.api.post("/api/auth/logout").bearer(&ada.access);
    logout.send().await.expect(200);
    assert_eq!(told(&ada.access).await, json!({ "active": false }));
    assert_eq!(told(&bob.access).await["active"], json!(true));
    identity.hand.advance(Duration::days(30));
    assert_eq!(told(&bob.access).await, json!({ "active": false }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_refresh_token_of_a_browser_session_cannot_be_introspected_or_revoked() {
    let provider = Provider::start().await;
    let resource = json!({ "name": "API", "may_introspect_any": true });
    let resource = provider.register(resource).await;
    let ada = provider.identity.register("ada").await;
    let sid = decoded(&ada.access, 1)["sid"].as_str().unwrap().to_owned();
    provider.identity.sql(&format!(
        "UPDATE sessions SET kind = 'browser' WHERE id = '{sid}'"
    ));
    let told = provider.introspect(&resource, &ada.refresh).await;
    assert_eq!(told, json!({ "active": false }));
    provider.revoke(&resource, &ada.refresh).await.expect(200);
    provider.identity.validate(&ada.access).await.expect(200);
}
