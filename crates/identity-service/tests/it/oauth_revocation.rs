use serde_json::json;

use crate::provider_fixture::{Provider, Registered};
use crate::support::{SignedIn, refused};

async fn is_over(provider: &Provider, client: &Registered, given: &SignedIn) {
    let reply = provider.identity.validate(&given.access).await;
    refused(reply, 401, "token_revoked");
    if !client.secret.is_empty() {
        for token in [&given.access, &given.refresh] {
            let told = provider.introspect(client, token).await;
            assert_eq!(told, json!({ "active": false }));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_either_token_ends_only_its_own_session() {
    let provider = Provider::start().await;
    let ada = provider.identity.register("ada").await;
    for client in [provider.confidential().await, provider.public().await] {
        let by_access = provider.given("ada", &client, "openid").await;
        let by_refresh = provider.given("ada", &client, "openid").await;
        let other = provider.given("ada", &client, "openid").await;
        for (given, token) in [
            (&by_access, &by_access.access),
            (&by_refresh, &by_refresh.refresh),
        ] {
            let before = provider
                .identity
                .events("identity.session_revoked.v1")
                .len();
            provider.identity.validate(&given.access).await.expect(200);
            let reply = provider.revoke(&client, token).await.expect(200);
            assert_eq!(reply.text(), "");
            is_over(&provider, &client, given).await;
            // A second revocation succeeds, and publishes no second event.
            provider.revoke(&client, token).await.expect(200);
            let told = provider
                .identity
                .events("identity.session_revoked.v1")
                .len();
            assert_eq!(told - before, 1);
        }
        for token in [&other.access, &ada.access] {
            provider.identity.validate(token).await.expect(200);
        }
    }
    let audited = "SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked' AND details LIKE '%revoked_by_client%'";
    assert_eq!(provider.identity.count(audited), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_a_token_of_somebody_else_is_refused_and_leaves_it_valid() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let other = provider.public().await;
    let all = json!({ "name": "API", "may_introspect_any": true });
    let all = provider.register(all).await;
    let own = provider.identity.register("ada").await;
    let given = provider.given("ada", &other, "openid").await;
    for caller in [&client, &all] {
        for token in [&own.access, &own.refresh, &given.access, &given.refresh] {
            let reply = provider.revoke(caller, token).await;
            refused(reply, 400, "invalid_grant");
        }
    }
    for token in [&own.access, &given.access] {
        provider.identity.validate(token).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_an_unknown_token_succeeds() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    provider.identity.register("ada").await;
    let given = provider.given("ada", &client, "openid").await;
    for token in [
        "x",
        "a.b.c",
        &format!("{}x", given.access),
        &"x".repeat(20_000),
    ] {
        provider.revoke(&client, token).await.expect(200);
    }
    provider.identity.validate(&given.access).await.expect(200);
    let call = provider.ask(&client, "/api/oauth/revoke", &[]);
    refused(call.send().await, 400, "invalid_request");
}
