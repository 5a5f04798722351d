use std::time::Duration as StdDuration;

use chrono::Duration;
use event_types::MailTemplate;
use identity_service::Config;
use serde_json::json;
use test_kit::wait_until;

use crate::support::{Identity, PASSWORD, signed_in};

const DESK: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

/// Starts a service behind a trusted proxy, and registers an account.
async fn start() -> Identity {
    start_with(|_| {}).await
}

async fn start_with(change: impl FnOnce(&mut Config)) -> Identity {
    let identity = Identity::start_with(|config| {
        config.trusted_proxies.0 = vec!["127.0.0.0/8".parse().unwrap()];
        change(config);
    })
    .await;
    let body = json!({ "username": "ada", "password": PASSWORD, "email": "ada@example.com" });
    let call = identity.api.post("/api/auth/register").json(body);
    let call = call.header("user-agent", DESK);
    let call = call.header("x-forwarded-for", "203.0.113.7");
    call.send().await.expect(201);
    identity
}

async fn verify(identity: &Identity) {
    let token = identity.last_link("verify_email");
    identity.verify_email(&token).await.expect(204);
}

/// Signs in from this address, and returns how many notices were mailed.
async fn notices(identity: &Identity, address: &str, user_agent: &str) -> usize {
    let before = identity.mailed("new_sign_in").len();
    identity.hand.advance(Duration::milliseconds(1));
    let body = json!({ "username": "ada", "password": PASSWORD });
    let call = identity.api.post("/api/auth/login").json(body);
    let call = call.header("user-agent", user_agent);
    call.header("x-forwarded-for", address)
        .send()
        .await
        .expect(200);
    identity.mailed("new_sign_in").len() - before
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_from_a_new_location_sends_a_mail_and_a_known_one_does_not() {
    let identity = start().await;
    verify(&identity).await;
    assert!(identity.mailed("new_sign_in").is_empty());
    assert_eq!(notices(&identity, "203.0.113.7", DESK).await, 0);
    assert_eq!(notices(&identity, "203.0.113.200", DESK).await, 0);
    let updated = DESK.replace("Firefox/145.0", "Firefox/145.1.2");
    assert_eq!(notices(&identity, "203.0.113.7", &updated).await, 0);

    assert_eq!(notices(&identity, "198.51.100.1", DESK).await, 1);
    assert_eq!(notices(&identity, "198.51.100.2", DESK).await, 0);
    assert_eq!(notices(&identity, "203.0.113.7", "curl/8.17.0").await, 1);
    assert_eq!(notices(&identity, "2001:db8::1", DESK).await, 1);
    assert_eq!(notices(&identity, "2001:db8::2:0:0:1", DESK).await, 0);
    assert_eq!(notices(&identity, "2001:db8:0:1::1", DESK).await, 1);

    let mail = identity.mails().pop().unwrap();
    assert_eq!(mail.to, "ada@example.com");
    let MailTemplate::NewSignIn {
        username,
        address,
        user_agent,
        ..
    } = mail.text
    else {
        panic!("{mail:?}");
    };
    assert_eq!(username, "ada");
    assert_eq!(address, "2001:db8:0:1::1");
    assert_eq!(user_agent.as_deref(), Some(DESK));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_location_is_forgotten_after_ninety_days_without_use() {
    let identity = start().await;
    verify(&identity).await;
    identity.hand.advance(Duration::days(89));
    assert_eq!(notices(&identity, "203.0.113.7", DESK).await, 0);
    identity.hand.advance(Duration::days(90));
    assert_eq!(notices(&identity, "203.0.113.7", DESK).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_location_stays_known_after_its_session_has_ended_and_housekeeping_has_run() {
    let identity = start_with(|config| config.housekeeping_seconds = 1).await;
    verify(&identity).await;
    let ada = identity.login("ada", PASSWORD).await.expect(200).json();
    let ada = signed_in(&ada);
    let reply = identity.api.get("/api/auth/global-logout");
    reply.bearer(&ada.access).send().await.expect(400);
    identity.hand.advance(Duration::days(89));
    identity.sql("INSERT INTO email_claims (email_lower, user_id, expires_at) VALUES ('x', 1, '2026-11-21 12:00:00')");
    let probe = async || {
        let left = "SELECT count(*) AS n FROM email_claims WHERE email_lower = 'x'";
        (identity.count(left) == 0).then_some(())
    };
    wait_until("housekeeping", StdDuration::from_secs(20), probe).await;
    assert_eq!(notices(&identity, "203.0.113.7", DESK).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_use_keeps_its_location_known() {
    let identity = start().await;
    verify(&identity).await;
    let body = json!({ "username": "ada", "password": PASSWORD });
    let call = identity.api.post("/api/auth/login").json(body);
    let call = call.header("user-agent", DESK);
    let call = call.header("x-forwarded-for", "203.0.113.7");
    let pair = call.send().await.expect(200).json();
    identity.hand.advance(Duration::days(60));
    let body = json!({ "refresh_token": pair["refresh_token"] });
    let call = identity.api.post("/api/auth/refresh").json(body);
    let call = call.header("user-agent", DESK);
    let call = call.header("x-forwarded-for", "203.0.113.99");
    call.send().await.expect(200);
    identity.hand.advance(Duration::days(60));
    assert_eq!(notices(&identity, "203.0.113.7", DESK).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unverified_address_gets_no_sign_in_notice() {
    let identity = start().await;
    assert_eq!(notices(&identity, "198.51.100.1", "curl/8.17.0").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sign_in_of_an_account_sends_no_notice() {
    let identity = start().await;
    verify(&identity).await;
    // This account was created without a sign-in, as the command line does it.
    identity.sql(
        "INSERT INTO users (username, username_lower, email, email_verified, password_hash, created_at, updated_at) \
         SELECT 'bob', 'bob', 'bob@example.com', TRUE, password_hash, created_at, updated_at FROM users",
    );
    for (agent, told) in [("curl/8.17.0", 0), ("wget/1.21", 1)] {
        let body = json!({ "username": "bob", "password": PASSWORD });
        let call = identity.api.post("/api/auth/login").json(body);
        call.header("user-agent", agent).send().await.expect(200);
        assert_eq!(identity.mailed("new_sign_in").len(), told);
    }
    assert_eq!(identity.mailed("new_sign_in"), ["bob@example.com"]);
    // Without session rows no location is known, so a sign-in of an account that signed in before sends a notice.
    identity.sql("DELETE FROM sessions");
    assert_eq!(notices(&identity, "203.0.113.7", DESK).await, 1);
}
