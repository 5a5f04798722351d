use reqwest::Method;
use serde_json::{Value, json};

use crate::admin_cli::run;
use crate::provider_fixture::Provider;

const DOCUMENTS: [&str; 2] = [
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_discovery_documents_agree_and_their_endpoints_exist() {
    let provider = Provider::start().await;
    let base = provider.identity.running.base_url();
    let mut documents = Vec::new();
    for path in DOCUMENTS {
        let call = provider.identity.api.get(path);
        let reply = call
            .header("origin", "https://anywhere.example")
            .send()
            .await
            .expect(200);
        assert_eq!(reply.header("access-control-allow-origin"), "*");
        assert_eq!(reply.header("cache-control"), "public, max-age=300");
        documents.push(reply.json());
    }
    let [document, other] = documents.as_slice() else {
        unreachable!()
    };
    assert_eq!(document, other);
    assert_eq!(document["issuer"], json!(base));
    for (name, method) in [
        ("userinfo_endpoint", Method::GET),
        ("jwks_uri", Method::GET),
        ("revocation_endpoint", Method::POST),
        ("introspection_endpoint", Method::POST),
        ("end_session_endpoint", Method::GET),
        ("service_documentation", Method::GET),
    ] {
        let address = document[name].as_str().unwrap();
        let path = address.strip_prefix(base).unwrap();
        let reply = provider.identity.api.call(method, path).send().await;
        assert!(
            ![404, 405].contains(&reply.status),
            "{name}: {}",
            reply.status
        );
    }
    for (name, values) in [
        ("response_types_supported", json!(["code", "id_token"])),
        ("response_modes_supported", json!(["query", "form_post"])),
        (
            "prompt_values_supported",
            json!(["none", "login", "consent", "select_account", "create"]),
        ),
        ("acr_values_supported", json!(["1", "2"])),
        ("ui_locales_supported", json!(["en"])),
        ("subject_types_supported", json!(["public"])),
        (
            "id_token_signing_alg_values_supported",
            json!(["ES256", "RS256"]),
        ),
        ("request_uri_parameter_supported", json!(false)),
        ("backchannel_logout_supported", json!(true)),
        ("backchannel_logout_session_supported", json!(true)),
        (
            "authorization_response_iss_parameter_supported",
            json!(true),
        ),
        (
            "token_endpoint_auth_methods_supported",
            json!(["client_secret_basic", "client_secret_post", "none"]),
        ),
        (
            "introspection_endpoint_auth_methods_supported",
            json!(["client_secret_basic", "client_secret_post"]),
        ),
    ] {
        assert_eq!(document[name], values, "{name}");
    }
}

async fn keys(provider: &Provider) -> Vec<Value> {
    let call = provider.identity.api.get("/.well-known/jwks.json");
    let reply = call.send().await.expect(200);
    assert_eq!(reply.header("access-control-allow-origin"), "*");
    reply.json()["keys"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_both_algorithms_are_published_from_the_first_request_on() {
    let provider = Provider::start().await;
    let algorithms = |keys: &[Value]| -> Vec<String> {
        let named = keys
            .iter()
            .map(|key| key["alg"].as_str().unwrap().to_owned());
        named.collect()
    };
    let published = keys(&provider).await;
    assert_eq!(algorithms(&published), ["ES256", "RS256"]);
    let rsa = &published[1];
    assert_eq!(
        (&rsa["kty"], &rsa["use"], &rsa["e"]),
        (&json!("RSA"), &json!("sig"), &json!("AQAB"))
    );
    // 342 characters of Base64 are 2,048 bits. No private part of the key is published.
    assert_eq!(rsa["n"].as_str().unwrap().len(), 342);
    let mut names: Vec<&String> = rsa.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["alg", "e", "kid", "kty", "n", "use"]);
    // The key signs at once, because no client can have cached public keys of this algorithm before.
    let waiting = "SELECT count(*) AS n FROM signing_keys WHERE signs_from > created_at";
    assert_eq!(provider.identity.count(waiting), 0);
    // All clients share one key of this algorithm.
    provider.register(json!({ "name": "New" })).await;
    assert_eq!(keys(&provider).await, published);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_both_algorithms_are_listed_rotated_and_removed() {
    let provider = Provider::start().await;
    let db = &provider.identity.db;
    let body = json!({ "name": "Old", "id_token_signed_response_alg": "RS256" });
    let old_client = provider.register(body).await;
    let before = keys(&provider).await;
    let said = run(db, &["keys", "rotate", "--now", "--json"], "", &[]).good();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&said["retired"], &said["rs256"]["retired"]),
        (&before[0]["kid"], &before[1]["kid"])
    );
    assert_ne!(said["rs256"]["kid"], before[1]["kid"]);
    let listed = run(db, &["keys", "list", "--json"], "", &[]).good();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let listed = listed["keys"].as_array().unwrap();
    let shown: Vec<_> = listed
        .iter()
        .map(|key| {
            (
                key["algorithm"].as_str().unwrap(),
                key["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("ES256", "signing"),
            ("ES256", "verifying"),
            ("RS256", "signing"),
            ("RS256", "verifying"),
        ]
    );
    let table = run(db, &["keys", "list"], "", &[]).good();
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    // The running service publishes the new keys, and the client can still authenticate.
    let published = test_kit::wait_until(
        "the new keys",
        std::time::Duration::from_secs(2),
        async || {
            let keys = keys(&provider).await;
            (keys.len() == 4).then_some(keys)
        },
    );
    let published = published.await;
    assert_eq!(published[2]["kid"], said["rs256"]["kid"]);
    provider.introspect(&old_client, "x").await;

    let retired = before[1]["kid"].as_str().unwrap();
    run(db, &["keys", "remove", retired], "", &[]).good();
    let signing = said["rs256"]["kid"].as_str().unwrap();
    run(db, &["keys", "remove", signing], "", &[]).refused(1);
}
