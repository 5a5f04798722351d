use reqwest::Method;
use serde_json::json;
use test_kit::ApiRequest;
use url::form_urlencoded::Serializer;

use crate::provider_fixture::Provider;
use crate::support::{Identity, beginning, refused, signed_in};

const PATH: &str = "/api/oauth/userinfo";

#[tokio::test(flavor = "multi_thread")]
async fn userinfo_claims_follow_the_scopes() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let body = json!({ "username": "Ada", "password": crate::support::PASSWORD, "email": "ada@example.com" });
    let own = provider.identity.api.post("/api/auth/register").json(body);
    let own = signed_in(&own.send().await.expect(201).json());
    provider.identity.sql(
        "UPDATE users SET photo_version = 'v1', display_name = 'Ada Lovelace', locale = 'en-GB', \
         zoneinfo = 'Europe/London' WHERE username = 'Ada'",
    );
    let base = provider.identity.running.base_url();
    let sub = json!({ "sub": own.id.to_string() });
    let profile = json!({
        "name": "Ada Lovelace",
        "locale": "en-GB",
        "zoneinfo": "Europe/London",
        "preferred_username": "Ada",
        "profile": format!("{base}/api/auth/user/{}", own.id),
        "picture": format!("{base}/api/public/user/{}/profile-photo/file?v=v1", own.id),
        "updated_at": beginning().timestamp(),
    });
    let email = json!({ "email": "ada@example.com", "email_verified": false });
    let all_of = |parts: &[&serde_json::Value]| {
        let mut all = serde_json::Map::new();
        for part in parts {
            all.extend(part.as_object().unwrap().clone());
        }
        serde_json::Value::Object(all)
    };
    for (scope, told) in [
        ("openid", all_of(&[&sub])),
        ("openid profile", all_of(&[&sub, &profile])),
        ("openid email", all_of(&[&sub, &email])),
        ("openid profile email", all_of(&[&sub, &profile, &email])),
    ] {
        let given = provider.given("Ada", &client, scope).await;
        for method in [Method::GET, Method::POST] {
            let call = provider.identity.api.call(method, PATH);
            let reply = call.bearer(&given.access).send().await.expect(200);
            assert_eq!(reply.json(), told, "{scope}");
            assert_eq!(reply.header("cache-control"), "no-store");
        }
    }
    // A first-party session is not limited by scopes.
    let call = provider.identity.api.get(PATH).bearer(&own.access);
    let told = call.send().await.expect(200).json();
    let groups = json!({ "groups": [] });
    assert_eq!(told, all_of(&[&sub, &profile, &email, &groups]));
}

/// Returns a POST with a form.
fn post(identity: &Identity, form: &[(&str, &str)]) -> ApiRequest {
    let body = Serializer::new(String::new()).extend_pairs(form).finish();
    let call = identity.api.post(PATH);
    call.body("application/x-www-form-urlencoded", body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_may_have_its_token_in_the_form_and_only_there() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let ada = provider.identity.register("ada").await;
    let given = provider.given("ada", &client, "openid").await;
    let token = ("access_token", given.access.as_str());
    let post = |form: &[(&str, &str)]| post(&provider.identity, form);
    let reply = post(&[("x", "y"), token]).send().await.expect(200);
    assert_eq!(reply.json(), json!({ "sub": ada.id.to_string() }));
    let with_header = post(&[("x", "y")]).bearer(&given.access);
    with_header.send().await.expect(200);
    let twice = post(&[token, token]).send().await;
    refused(twice, 400, "invalid_request");
    let both = post(&[token]).bearer(&given.access).send().await;
    refused(both, 400, "invalid_request");
    let call = provider.identity.api.get(PATH);
    let form = format!("access_token={}", given.access);
    let reply = call.body("application/x-www-form-urlencoded", form);
    refused(reply.send().await, 401, "authentication_required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_address_is_never_a_claim() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let ada = provider.identity.register("ada").await;
    let given = provider.given("ada", &client, "openid email").await;
    for who in [&given, &ada] {
        let call = provider.identity.api.get(PATH).bearer(&who.access);
        let told = call.send().await.expect(200).json();
        assert_eq!(told["sub"], ada.id.to_string());
        for claim in ["email", "email_verified"] {
            assert!(told.get(claim).is_none(), "{told}");
        }
    }
    let oauth = crate::oauth_fixture::OAuth::start().await;
    let pair = oauth.tokens("web", "openid email").await;
    let id = crate::oauth_fixture::claims(pair["id_token"].as_str().unwrap());
    for claim in ["email", "email_verified"] {
        assert!(id.get(claim).is_none(), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_userinfo_request_gets_its_error_in_www_authenticate() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let get = |token: &str| provider.identity.api.get(PATH).bearer(token);
    let post = async |form: &[(&str, &str)]| post(&provider.identity, form).send().await;
    let reply = provider.identity.api.get(PATH).send().await;
    let reply = refused(reply, 401, "authentication_required");
    assert_eq!(reply.header("www-authenticate"), "Bearer");

    let ada = provider.identity.register("ada").await;
    let given = provider.given("ada", &client, "profile email").await;
    let reply = refused(get(&given.access).send().await, 403, "insufficient_scope");
    assert_eq!(
        reply.header("www-authenticate"),
        r#"Bearer error="insufficient_scope", scope="openid""#
    );
    let good = provider.given("ada", &client, "openid").await;
    provider.revoke(&client, &good.access).await.expect(200);
    for token in ["x", &given.refresh, &ada.refresh, &good.access] {
        let reply = refused(get(token).send().await, 401, "invalid_token");
        let header = reply.header("www-authenticate");
        assert!(
            header.starts_with(r#"Bearer error="invalid_token", error_description=""#),
            "{header}"
        );
    }
    for token in ["x", &good.access] {
        let reply = refused(post(&[("access_token", token)]).await, 401, "invalid_token");
        let header = reply.header("www-authenticate");
        assert!(
            header.starts_with(r#"Bearer error="invalid_token""#),
            "{header}"
        );
    }
    let reply = post(&[("access_token", &given.access)]).await;
    refused(reply, 403, "insufficient_scope");
    for form in [&[][..], &[("access_token", "")], &[("token", &ada.access)]] {
        refused(post(form).await, 401, "authentication_required");
    }
    // A token in the query (RFC 6750 section 2.3) does not count.
    let path = format!("{PATH}?access_token={}", ada.access);
    let reply = provider.identity.api.get(&path).send().await;
    refused(reply, 401, "authentication_required");
}
