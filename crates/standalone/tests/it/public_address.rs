//! At a public address, nothing is open that is convenient on a developer's machine.

use serde_json::{Value, json};
use test_kit::{ApiClient, ApiResponse, Process};

use crate::harness::{Options, PASSWORD, System};
use crate::processes::{Env, holdfast, quick};

/// Returns the environment of `holdfast` behind a TLS proxy on this machine, with further variables.
fn public(more: &[(&str, &str)]) -> Env {
    let mut env = quick();
    for (key, value) in [
        ("IDENTITY__BASE_URL", "https://id.example.com"),
        ("WORKSESSION__BASE_URL", "https://work.example.com"),
        ("IDENTITY__PASSWORD__BCRYPT_COST", "10"),
        ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "false"),
    ]
    .iter()
    .chain(more)
    {
        env.insert((*key).to_owned(), (*value).to_owned());
    }
    env
}

fn start(data: &std::path::Path, env: &Env) -> (Process, ApiClient, ApiClient) {
    let process = holdfast(data, &["serve"], env);
    let urls = process.wait_listening(&["identity", "worksession", "notifier"]);
    let (identity, work) = (
        ApiClient::new(&*urls["identity"]),
        ApiClient::new(&*urls["worksession"]),
    );
    (process, identity, work)
}

/// Signs in with a wrong password, to an account of its own, with these header lines of a proxy or a forger.
async fn guess(api: &ApiClient, path: &str, n: usize, lines: &[(&str, String)]) -> ApiResponse {
    let body = json!({"username": format!("nobody{n}"), "password": "wrong password"});
    let call = api.post(path).json(body);
    let call = lines
        .iter()
        .fold(call, |call, (name, value)| call.header(name, value));
    call.send().await
}

/// Whether guesses are limited after the first 60.
async fn is_limited(
    api: &ApiClient,
    path: &str,
    lines: impl Fn(usize) -> Vec<(&'static str, String)>,
) -> bool {
    for n in 0..60 {
        guess(api, path, n, &lines(n)).await;
    }
    // The limit recovers while guesses are computed, so some more may pass.
    for n in 60..120 {
        if guess(api, path, n, &lines(n)).await.status == 429 {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_behind_a_proxy_are_limited_whatever_addresses_the_caller_forges() {
    let data = tempfile::tempdir().unwrap();
    let forged = |n: usize| {
        vec![
            ("x-forwarded-for", format!("198.51.100.{n}")),
            ("x-holdfast-inside", "guessed".to_owned()),
        ]
    };
    let (_process, identity, work) = start(data.path(), &public(&[]));
    assert!(is_limited(&identity, "/api/auth/login", forged).await);
    assert!(is_limited(&work, "/api/login", forged).await);
    let data = tempfile::tempdir().unwrap();
    let trusting = public(&[
        ("IDENTITY__TRUSTED_PROXIES", "127.0.0.0/8"),
        ("WORKSESSION__TRUSTED_PROXIES", "127.0.0.0/8"),
    ]);
    let (_process, identity, work) = start(data.path(), &trusting);
    for (api, path, there) in [
        (&identity, "/api/auth/login", "203.0.113.1"),
        (&work, "/api/login", "203.0.113.2"),
    ] {
        let usual = |n| vec![("x-forwarded-for", format!("198.51.100.{n}, {there}"))];
        assert!(is_limited(api, path, usual).await);
        let elsewhere = [("x-forwarded-for", "203.0.113.3".to_owned())];
        guess(api, path, 200, &elsewhere).await.expect(401);
    }
    let standard = |n| {
        vec![(
            "forwarded",
            format!("for=198.51.100.{n}, for=\"203.0.113.4:80\""),
        )]
    };
    assert!(is_limited(&identity, "/api/auth/login", standard).await);
    let both = |n| {
        vec![
            ("x-forwarded-for", "203.0.113.5".to_owned()),
            ("forwarded", format!("for=198.51.100.{n}")),
        ]
    };
    assert!(is_limited(&identity, "/api/auth/login", both).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_public_address_sso_does_not_redirect_to_localhost() {
    let data = tempfile::tempdir().unwrap();
    let (_process, identity, _) = start(data.path(), &public(&[]));
    let account = json!({"username": "Ada", "password": PASSWORD});
    let made = identity.post("/api/auth/register").json(account);
    let token = made.send().await.expect(201).json()["access_token"].clone();
    for origin in [
        "http%3A%2F%2Flocalhost%3A31337",
        "http%3A%2F%2F127.0.0.1%3A31337",
    ] {
        let path = format!("/api/auth/sso/authorize?service=x&redirect_uri={origin}%2F");
        let call = identity.get(&path).bearer(token.as_str().unwrap());
        let refused = call.send().await.expect(400).json();
        assert_eq!(refused["error"], "redirect_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn development_settings_at_a_public_address_stop_the_start_and_are_named() {
    let data = tempfile::tempdir().unwrap();
    let key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
    let all = [
        ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
        ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
        ("IDENTITY__SSO__ALLOWED_ORIGINS", "http://localhost:*"),
        ("IDENTITY__CORS__ALLOWED_ORIGINS", "http://127.0.0.1:3000"),
        ("IDENTITY__ALLOW_INSECURE_COOKIES", "true"),
        ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true"),
        ("IDENTITY__TRUSTED_PROXIES", "0.0.0.0/0"),
        ("WORKSESSION__BASE_URL", "http://work.example.com"),
        ("WORKSESSION__SECRETS__ENCRYPTION_KEY", key),
    ];
    let refused = |env: &Env, named: &[&str]| {
        for command in ["serve", "check-config"] {
            let mut process = holdfast(data.path(), &[command], env);
            assert_eq!(process.wait().code(), Some(1), "{named:?}");
            let errors = process.stderr();
            assert_eq!(errors.lines().count(), 1, "{errors}");
            let is_named = |name: &&str| errors.contains(*name);
            assert!(named.iter().all(is_named), "{named:?}: {errors}");
            assert!(!errors.contains(key), "{errors}");
        }
    };
    refused(&public(&all), &all.map(|(name, _)| name));
    for (name, value) in all {
        refused(&public(&[(name, value)]), &[name]);
    }
    // One public address is enough, even if the identity service knows only its socket.
    let mut half = public(&[("IDENTITY__RATE_LIMITS__ENABLED", "false")]);
    half.remove("IDENTITY__BASE_URL");
    refused(&half, &["IDENTITY__RATE_LIMITS__ENABLED"]);
    for fine in [public(&[]), quick()] {
        let mut process = holdfast(data.path(), &["check-config"], &fine);
        assert!(process.wait().success(), "{}", process.stderr());
    }
}

/// Returns the health report of a service at a public address, beside an identity service that trusts these proxies.
async fn health(believed: &str) -> Value {
    let system = System::with(Options {
        identity: json!({"trusted_proxies": believed}),
        worksession: json!({"base_url": "https://work.example.com"}),
        ..Options::default()
    })
    .await;
    system
        .work
        .get("/api/health")
        .send()
        .await
        .expect(200)
        .json()
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_degraded_if_the_identity_service_does_not_trust_forwarded_addresses() {
    let report = health("").await;
    assert_eq!(report["services"]["authentication"], "degraded");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("IDENTITY__TRUSTED_PROXIES"), "{message}");
    let report = health("127.0.0.1/32").await;
    assert_eq!(report["services"]["authentication"], "operational");
}
