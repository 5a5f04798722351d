//! Events that name the clients which have lost access to an account.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::oauth_fixture::{OAuth, claims};
use crate::provider_fixture::Provider;

/// Returns the clients that lost access, event by event.
fn shut_out(events: &[Value]) -> Vec<Value> {
    events
        .iter()
        .map(|event| event["clients"].clone())
        .collect()
}

/// Returns the clients of all events so far. Later events get a later time.
fn revoked(oauth: &OAuth) -> Vec<Value> {
    oauth.identity.hand.advance(Duration::seconds(1));
    shut_out(&oauth.identity.events("identity.session_revoked.v1"))
}

async fn end(oauth: &OAuth, client: &str) {
    let path = format!("/api/auth/applications/{client}");
    let call = oauth.identity.api.delete(&path);
    call.bearer(&oauth.ada.access).send().await.expect(204);
}

fn allow(oauth: &OAuth, client: &str) {
    oauth.identity.sql(&format!(
        "INSERT INTO oauth_consents (user_id, client_id, scope, created_at, updated_at) VALUES ({}, '{client}', 'openid', \
         '2026-11-21 12:00:00', '2026-11-21 12:00:00')",
        oauth.ada.id
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_returns_the_session_id_and_client_of_a_token() {
    let oauth = OAuth::start().await;
    for (client, token) in [
        (None, Value::from(oauth.ada.access.clone())),
        (
            Some("web"),
            oauth.tokens("web", "openid").await["access_token"].clone(),
        ),
        (
            Some("own"),
            oauth.tokens("own", "openid").await["access_token"].clone(),
        ),
    ] {
        let token = token.as_str().unwrap();
        let told = oauth.identity.validate(token).await.expect(200).json();
        assert_eq!(told["session_id"], claims(token)["sid"]);
        assert_eq!(told.get("client_id"), client.map(Value::from).as_ref());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_loses_access_with_its_last_session_that_can_set_up_integrations() {
    let oauth = OAuth::start().await;
    let hooks = "openid sessions:read integrations:write";
    let register = format!("UPDATE oauth_clients SET scope = '{hooks}'");
    oauth.identity.sql(&register);
    let first = oauth.tokens("native", hooks).await;
    let second = oauth.tokens("native", hooks).await;
    let half = oauth.tokens("native", "integrations:write").await;
    let minimal = oauth.tokens("native", "openid").await;
    oauth.tokens("own", hooks).await;
    for (token, clients) in [
        (first, json!([])),
        (second, json!(["native"])),
        (half, json!(["native"])),
        (minimal, json!(["native"])),
    ] {
        let token = token["access_token"].as_str().unwrap();
        let form = [("token", token)];
        let reply = oauth.post("/api/oauth/revoke", ("native", None), &form);
        reply.await.expect(200);
        assert_eq!(revoked(&oauth).pop(), Some(clients));
    }
    oauth.tokens("web", "openid").await;
    oauth.tokens("native", "openid").await;
    let call = oauth.identity.api.delete("/api/auth/sessions");
    call.bearer(&oauth.ada.access).send().await.expect(204);
    assert_eq!(revoked(&oauth).pop(), Some(json!(["native", "web"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_loses_access_when_its_consent_is_revoked() {
    let oauth = OAuth::start().await;
    oauth.tokens("web", "openid").await;
    end(&oauth, "web").await;
    assert_eq!(revoked(&oauth), [json!(["web"])]);
    allow(&oauth, "native");
    end(&oauth, "native").await;
    assert_eq!(revoked(&oauth), [json!(["web"]), json!(["native"])]);
    let told = oauth.identity.events("identity.session_revoked.v1");
    assert_eq!(told[1]["sids"], json!([]));
    assert_eq!(told[1]["user_id"], oauth.ada.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_client_loses_access_to_every_account_that_allowed_it() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    for user in 0..3 {
        let name = format!("user{user}");
        let own = provider.identity.register(&name).await;
        match user {
            0 => drop(provider.given(&name, &client, "openid").await),
            1 => provider.identity.sql(&format!(
                "INSERT INTO oauth_consents (user_id, client_id, scope, created_at, updated_at) VALUES ({}, '{}', 'openid', \
                 '2026-11-21 12:00:00', '2026-11-21 12:00:00')",
                own.id, client.id
            )),
            _ => {}
        }
    }
    let path = format!("/{}", client.id);
    provider.administer(Method::DELETE, &path).await.expect(204);
    let told = provider.identity.events("identity.session_revoked.v1");
    assert_eq!(shut_out(&told), vec![json!([client.id]); 2]);
    assert_ne!(told[0]["user_id"], told[1]["user_id"]);
}
