//! How many sessions an account can have, and which sessions make others end.

use chrono::Duration;
use serde_json::Value;
use test_kit::ApiResponse;

use crate::browser::Browser;
use crate::oauth_fixture::{OAuth, answer};
use crate::support::{Identity, refused, signed_in};

const SITES: [&str; 2] = ["https://app.example.com", "https://greedy.example.com"];
const LIVE: &str = "FROM sessions WHERE revoked_at IS NULL";

async fn pair(identity: &Identity, token: &str) -> ApiResponse {
    let call = identity.api.post("/api/auth/sso/token").bearer(token);
    call.send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_passwordless_sessions_end_no_sign_in_and_no_session_of_another_client() {
    let site = "https://app.example.com";
    let oauth = OAuth::start_with(|config| {
        config.sso.allowed_origins.0 = vec![site.to_owned()];
    })
    .await;
    let identity = &oauth.identity;
    let browser = oauth.browser().await;
    let native = signed_in(&oauth.tokens("native", "openid").await);
    let mut first_web = None;
    for _ in 0..250 {
        pair(identity, &oauth.ada.access).await.expect(200);
        let web = signed_in(&oauth.tokens("web", "openid").await);
        first_web.get_or_insert(web);
        // The times differ, so that one session is the oldest.
        identity.hand.advance(Duration::milliseconds(1));
    }
    let query = format!("/api/auth/sso/authorize?redirect_uri={site}");
    for _ in 0..201 {
        oauth.authorize(&query, &oauth.ada.access).await.expect(302);
    }
    identity.validate(&oauth.ada.access).await.expect(200);
    identity.refresh(&oauth.ada.refresh).await.expect(200);
    identity.validate(&native.access).await.expect(200);
    assert_eq!(browser.clone().get("/account").await.path, "/account");
    // Each kind and each client has ended only its own oldest sessions.
    for (like, live) in [
        ("kind = 'first_party' AND NOT is_derived", 1),
        ("kind = 'first_party' AND is_derived", 200),
        ("kind = 'browser'", 1),
        ("kind = 'sso'", 200),
        ("client_id = 'web'", 200),
        ("client_id = 'native'", 1),
    ] {
        let count = format!("SELECT count(*) AS n {LIVE} AND {like}");
        assert_eq!(identity.count(&count), live, "{like}");
    }
    let ended = first_web.unwrap();
    refused(identity.validate(&ended.access).await, 401, "token_revoked");
    let heard = "SELECT count(*) AS n FROM changes WHERE kind = 'session'";
    assert_eq!(identity.count(heard), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_opens_hundreds_of_sessions_ends_none_of_another_site() {
    let oauth = OAuth::start_with(|config| {
        config.sso.allowed_origins.0 = SITES.map(str::to_owned).to_vec();
    })
    .await;
    let identity = &oauth.identity;
    let theirs = oauth.handed_over(SITES[0]).await;
    identity.hand.advance(Duration::milliseconds(1));
    let greedy = oauth.handed_over(SITES[1]).await;
    for _ in 0..205 {
        pair(identity, &greedy).await.expect(200);
        identity.hand.advance(Duration::milliseconds(1));
    }
    identity.validate(&theirs).await.expect(200);
    for (site, live) in SITES.iter().zip([1, 200]) {
        let count = format!("SELECT count(*) AS n {LIVE} AND sso_origin = '{site}'");
        assert_eq!(identity.count(&count), live, "{site}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cap_holds_for_sessions_opened_concurrently() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let rows: Vec<String> = (0..199)
        .map(|n| {
            let (at, end) = ("'2026-11-21 11:00:00'", "'2027-11-21 11:00:00'");
            format!(
                "('s{n:03}', {}, {at}, {end}, 'l{n}', 'h', {at}, {end}, TRUE)",
                ada.id
            )
        })
        .collect();
    identity.sql(&format!(
        "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, \
         refresh_expires_at, is_derived) VALUES {}",
        rows.join(", ")
    ));
    let calls = (0..20).map(|_| pair(&identity, &ada.access));
    for reply in futures_util::future::join_all(calls).await {
        reply.expect(200);
    }
    let count = format!("SELECT count(*) AS n {LIVE} AND is_derived");
    assert_eq!(identity.count(&count), 200);
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn passwordless_sessions_are_rate_limited_by_account_and_client_or_site() {
    let oauth = OAuth::start_with(|config| {
        config.rate_limits.enabled = Some(true);
        config.sso.allowed_origins.0 = SITES.map(str::to_owned).to_vec();
    })
    .await;
    let (identity, ada) = (&oauth.identity, &oauth.ada);
    let bob = identity.register("bob").await;
    let code = oauth.code("native", &[]).await;
    let silent = OAuth::request("native", &[]);
    let greedy = oauth.handed_over(SITES[1]).await;
    for (token, free) in [(&ada.access, 60), (&greedy, 59)] {
        for n in 1.. {
            let reply = pair(identity, token).await;
            if reply.status == 429 {
                let reply = refused(reply, 429, "rate_limited");
                assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
                assert!(n > free, "{n}");
                break;
            }
            assert!(n < 200);
        }
    }
    let again = format!("/api/auth/sso/authorize?redirect_uri={}", SITES[1]);
    let reply = oauth.authorize(&again, &ada.access).await;
    refused(reply, 429, "rate_limited");
    // The limit of a site or client affects no other site, client or account.
    let theirs = oauth.handed_over(SITES[0]).await;
    pair(identity, &theirs).await.expect(200);
    oauth.redeem("native", &code).await.expect(200);
    pair(identity, &bob.access).await.expect(200);
    for n in 1.. {
        let reply = oauth.authorize(&silent, &ada.access).await;
        if reply.status == 429 {
            refused(reply, 429, "rate_limited");
            break;
        }
        assert!(answer(reply.expect(302).header("location")).contains_key("code"));
        assert!(n < 200);
    }
    oauth.authorize(&silent, &bob.access).await.expect(302);
    let other = OAuth::request("own", &[]);
    oauth.authorize(&other, &ada.access).await.expect(302);
    // With the password there is no such limit.
    let again: Value = identity
        .login("ada", crate::support::PASSWORD)
        .await
        .expect(200)
        .json();
    signed_in(&again);
    Browser::signed_in(identity, "ada").await;
}
