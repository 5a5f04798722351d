//! What frequent requests cost in database statements and in bytes on the wire. `cargo xtask bench` measures how long they take.

use serde_json::json;
use test_kit::TestBackend;

use crate::support::Identity;

/// Returns the statements per request of `work`, which must be a whole number.
async fn each(
    identity: &Identity,
    method: &str,
    route: &str,
    times: u64,
    work: impl AsyncFn(),
) -> u64 {
    let before = identity.api.statements(method, route).await;
    for _ in 0..times {
        work().await;
    }
    let needed = identity.api.statements(method, route).await - before;
    assert_eq!(
        needed % times,
        0,
        "{method} {route}: {needed} statements of {times} requests"
    );
    needed / times
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_takes_no_statement_with_the_cache_and_one_without_it() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let validate = async || drop(identity.validate(&ada.access).await.expect(200));
    identity.remembers(&ada.access).await;
    assert_eq!(
        each(&identity, "GET", "/api/auth/validate", 20, validate).await,
        0
    );
    let forgetful = Identity::start_with(|config| config.tokens.remember = false).await;
    let bob = forgetful.register("bob").await;
    let validate = async || drop(forgetful.validate(&bob.access).await.expect(200));
    assert_eq!(
        each(&forgetful, "GET", "/api/auth/validate", 20, validate).await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_takes_one_or_two_statements_and_a_sign_in_at_most_nine() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    identity.remembers(&ada.access).await;
    let login = async || drop(identity.login("ada", "correct horse").await.expect(200));
    let needed = each(&identity, "POST", "/api/auth/login", 3, login).await;
    assert!(needed <= 9, "{needed} statements of a sign-in");
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
    let needed = each(&identity, "POST", "/api/auth/refresh", 3, refresh).await;
    assert_eq!(needed, expected);
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
