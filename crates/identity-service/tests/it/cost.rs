//! What frequent requests cost in database statements and in bytes on the wire. `cargo xtask bench` measures how long they take.

use std::ops::RangeInclusive;

use serde_json::json;
use test_kit::TestBackend;

use crate::support::Identity;

/// Waits for a round of requests of `work` in which each takes this number of statements. A late message of the change feed
/// causes one more read, so a round that it meets is repeated.
async fn assert_each_takes(
    identity: &Identity,
    (method, route): (&str, &str),
    statements: RangeInclusive<u64>,
    work: impl AsyncFn(),
) {
    const TIMES: u64 = 10;
    let mut needed = 0;
    for _ in 0..10 {
        let before = identity.api.statements(method, route).await;
        for _ in 0..TIMES {
            work().await;
        }
        needed = identity.api.statements(method, route).await - before;
        if needed % TIMES == 0 && statements.contains(&(needed / TIMES)) {
            return;
        }
    }
    panic!("{method} {route}: {needed} statements of {TIMES} requests, not {statements:?} each");
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_takes_no_statement_with_the_cache_and_one_without_it() {
    const VALIDATE: (&str, &str) = ("GET", "/api/auth/validate");
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let validate = async || drop(identity.validate(&ada.access).await.expect(200));
    assert_each_takes(&identity, VALIDATE, 0..=0, validate).await;
    let forgetful = Identity::start_with(|config| config.tokens.remember = false).await;
    let bob = forgetful.register("bob").await;
    let validate = async || drop(forgetful.validate(&bob.access).await.expect(200));
    assert_each_takes(&forgetful, VALIDATE, 1..=1, validate).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_takes_one_or_two_statements_and_a_sign_in_at_most_nine() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity.remembers(&ada.access).await;
    let login = async || drop(identity.login("ada", "correct horse").await.expect(200));
    assert_each_takes(&identity, ("POST", "/api/auth/login"), 0..=9, login).await;
    let refresh = async || {
        let pair = identity
            .login("ada", "correct horse")
            .await
            .expect(200)
            .json();
        let token = pair["refresh_token"].as_str().unwrap().to_owned();
        identity.refresh(&token).await.expect(200);
    };
    let expected = match TestBackend::current() {
        TestBackend::Postgres => 1,
        TestBackend::Sqlite => 2,
    };
    let route = ("POST", "/api/auth/refresh");
    assert_each_takes(&identity, route, expected..=expected, refresh).await;
}

/// The work-session service fetches this response for its requests: 750 bytes, and 196 bytes of headers.
/// The limits are 15 % higher: a longer name fits, a new field or header must be intended.
#[tokio::test(flavor = "multi_thread")]
async fn the_validate_response_stays_within_its_size_limits() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let answer = identity.validate(&ada.access).await.expect(200);
    assert!(answer.body.len() <= 860, "{} bytes", answer.body.len());
    let headers: usize = answer
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    assert!(headers <= 225, "{headers} bytes: {:?}", answer.headers);
    let told = identity
        .api
        .post("/api/auth/validate")
        .json(json!({}))
        .bearer(&ada.access);
    assert_eq!(told.send().await.expect(200).body, answer.body);
}
