//! Client authentication (RFC 6749 section 2.3).

use serde_json::json;
use test_kit::ApiRequest;
use url::form_urlencoded::byte_serialize;

use crate::oauth_fixture::OAuth;
use crate::provider_fixture::{Provider, Registered, basic, form};
use crate::support::refused;

const PATH: &str = "/api/oauth/introspect";

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_with_any_character_works_in_basic_both_encoded_and_raw() {
    let oauth = OAuth::start().await;
    for (n, secret) in ["a+b/c%d e%2Bf==", "%zz%", "+", "a%2Bb", "p:q&r=s", "ü %FF"]
        .into_iter()
        .enumerate()
    {
        let id = format!("app{n}");
        oauth.add_client(&id, Some(secret), false);
        let encoded: String = byte_serialize(secret.as_bytes()).collect();
        for (sent, status) in [
            (secret, 200),
            (encoded.as_str(), 200),
            ("a+b/c%d e%2Bg==", 401),
            ("", 401),
        ] {
            let call = form(&oauth.identity, PATH, &[("token", "x")]);
            let call = call.header("authorization", basic(&id, sent));
            let reply = call.send().await;
            assert_eq!(reply.status, status, "{secret}: {sent}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_authenticates_by_basic_or_form_with_its_own_secret_only() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let other = provider.confidential().await;
    let public = provider.public().await;
    let Registered { id, secret } = &client;
    let post = |fields: &[(&str, &str)]| {
        let fields: Vec<_> = [("token", "x")].iter().chain(fields).copied().collect();
        form(&provider.identity, PATH, &fields)
    };
    let header = |call: ApiRequest, value: &str| call.header("authorization", value);
    let good = basic(id, secret);
    let form_encoded = basic(&id.replace('-', "%2D"), &secret.replace('_', "%5f"));

    for (rule, call) in [
        ("Basic", header(post(&[]), &good)),
        ("form encoding in Basic", header(post(&[]), &form_encoded)),
        (
            "a scheme in any case",
            header(post(&[]), &good.replace("Basic", "basic")),
        ),
        (
            "its id in the form too",
            header(post(&[("client_id", id)]), &good),
        ),
        (
            "the form",
            post(&[("client_id", id), ("client_secret", secret)]),
        ),
        (
            "an empty parameter is none",
            header(post(&[("client_secret", "")]), &good),
        ),
    ] {
        let reply = call.send().await;
        assert_eq!(
            (reply.status, reply.json()),
            (200, json!({ "active": false })),
            "{rule}"
        );
        assert_eq!(reply.header("cache-control"), "no-store", "{rule}");
    }

    let mut answers = Vec::new();
    for (rule, call) in [
        ("no client", post(&[])),
        (
            "an unknown client",
            header(post(&[]), &basic("nobody", secret)),
        ),
        ("a wrong secret", header(post(&[]), &basic(id, "wrong"))),
        (
            "another's secret",
            header(post(&[]), &basic(id, &other.secret)),
        ),
        ("no secret", post(&[("client_id", id)])),
        ("an empty secret", header(post(&[]), &basic(id, ""))),
        (
            "a wrong secret in the form",
            post(&[("client_id", id), ("client_secret", "wrong")]),
        ),
        ("another scheme", header(post(&[]), "Bearer x")),
        ("no Base64", header(post(&[]), "Basic ???")),
        (
            "a public client with a secret",
            post(&[("client_id", &public.id), ("client_secret", secret)]),
        ),
        (
            "a public client where a secret is needed",
            post(&[("client_id", &public.id)]),
        ),
        (
            "a very long id",
            post(&[
                ("client_id", &"x".repeat(10_000)),
                ("client_secret", secret),
            ]),
        ),
        (
            "its hash for its secret",
            post(&[("client_id", id), ("client_secret", &hash(&provider, id))]),
        ),
    ] {
        let reply = call.send().await;
        assert_eq!(reply.status, 401, "{rule}");
        let reply = refused(reply, 401, "invalid_client");
        assert!(
            reply.header("www-authenticate").starts_with("Basic "),
            "{rule}"
        );
        answers.push(reply.text());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "nobody is told what exactly was wrong");
}

fn hash(provider: &Provider, id: &str) -> String {
    let query = format!("SELECT secret_hash AS t FROM oauth_clients WHERE id = '{id}'");
    crate::support::texts(&provider.identity.db.pool(1), &query).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ambiguous_or_malformed_client_request_is_refused() {
    let provider = Provider::start().await;
    let client = provider.confidential().await;
    let other = provider.confidential().await;
    let Registered { id, secret } = &client;
    let good = basic(id, secret);
    let raw = |body: &str| {
        let call = provider
            .identity
            .api
            .post(PATH)
            .header("authorization", &good);
        call.body("application/x-www-form-urlencoded", body)
    };
    let json = json!({ "token": "x" });
    for (rule, call) in [
        (
            "two ways at once",
            raw(&format!("token=x&client_secret={secret}")),
        ),
        (
            "another client's id",
            raw(&format!("token=x&client_id={}", other.id)),
        ),
        ("two headers", raw("token=x").header("authorization", &good)),
        ("a doubled parameter", raw("token=x&token=y")),
        ("bad UTF-8", raw("token=%FF")),
        ("NUL", raw("token=%00")),
        ("no token", raw("")),
        ("an empty token", raw("token=")),
        (
            "JSON",
            provider
                .identity
                .api
                .post(PATH)
                .header("authorization", &good)
                .json(json),
        ),
        (
            "no content type",
            provider
                .identity
                .api
                .post(PATH)
                .header("authorization", &good),
        ),
        (
            "a token in the query",
            provider
                .identity
                .api
                .post("/api/oauth/introspect?token=x")
                .header("authorization", &good)
                .body("application/x-www-form-urlencoded", ""),
        ),
    ] {
        let reply = call.send().await;
        assert_eq!(reply.status, 400, "{rule}");
        refused(reply, 400, "invalid_request");
    }
    let large = raw(&format!("token={}", "x".repeat(70_000))).send().await;
    refused(large, 413, "payload_too_large");
    // A secret in the query does not count, because it would end up in logs.
    let path = format!("{PATH}?client_id={id}&client_secret={secret}");
    let reply = form(&provider.identity, &path, &[("token", "x")])
        .send()
        .await;
    refused(reply, 401, "invalid_client");
    let reply = provider.identity.api.get(PATH).send().await;
    refused(reply, 405, "method_not_allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_client_authentication_is_rate_limited_but_the_right_secret_still_works() {
    let provider = Provider::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let client = provider.confidential().await;
    let other = provider.confidential().await;
    let wrong = Registered {
        secret: "wrong".to_owned(),
        ..client.clone()
    };
    let fail = async |client: &Registered| {
        let call = provider.ask(client, PATH, &[("token", "x")]);
        call.send().await
    };
    for _ in 0..10 {
        refused(fail(&wrong).await, 401, "invalid_client");
    }
    let reply = refused(fail(&wrong).await, 429, "rate_limited");
    assert_eq!(reply.header("retry-after"), "1");
    provider.introspect(&client, "x").await;
    provider.introspect(&other, "x").await;
    refused(fail(&wrong).await, 429, "rate_limited");
    provider.identity.hand.advance(chrono::Duration::seconds(1));
    refused(fail(&wrong).await, 401, "invalid_client");

    // A caller who tries many clients is limited by address, but the right secret still passes.
    let mut last = 401;
    for n in 0..300 {
        let unknown = Registered {
            id: format!("client-{n}"),
            secret: "wrong".to_owned(),
        };
        last = fail(&unknown).await.status;
        if last == 429 {
            break;
        }
        assert_eq!(last, 401);
    }
    assert_eq!(last, 429);
    provider.introspect(&other, "x").await;
}
