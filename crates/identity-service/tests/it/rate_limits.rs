use chrono::Duration;
use serde_json::json;

use crate::support::{Identity, PASSWORD, refused};

#[tokio::test(flavor = "multi_thread")]
async fn an_ip_address_can_sign_in_sixty_times_before_it_is_rate_limited() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    identity.register("ada").await;
    // The limit refills while the test runs, so a slow machine gets more attempts.
    for attempt in 1.. {
        let reply = identity.login("ada", PASSWORD).await;
        if reply.status == 429 {
            let reply = refused(reply, 429, "rate_limited");
            assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
            assert!(attempt > 60, "{attempt}");
            break;
        }
        assert!(attempt < 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_ten_failed_sign_ins_an_account_waits_longer_each_time_but_is_not_locked() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    identity.register("ada").await;
    for _ in 0..10 {
        refused(
            identity.login("Ada", "wrong password").await,
            401,
            "invalid_credentials",
        );
    }
    let reply = refused(identity.login("ada", PASSWORD).await, 429, "rate_limited");
    assert_eq!(reply.header("retry-after"), "1");
    identity.hand.advance(Duration::seconds(1));
    refused(
        identity.login("ada", "wrong password").await,
        401,
        "invalid_credentials",
    );
    let reply = refused(identity.login("ada", PASSWORD).await, 429, "rate_limited");
    assert_eq!(reply.header("retry-after"), "2");
    identity.hand.advance(Duration::seconds(2));
    identity.login("ada", PASSWORD).await.expect(200);
    identity.login("ada", PASSWORD).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn registrations_and_refreshes_are_rate_limited_too() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let mut ada = identity.register("ada").await;
    let mut refused_at = None;
    for attempt in 0..400 {
        let reply = identity.refresh(&ada.refresh).await;
        if reply.status == 429 {
            refused_at = Some(attempt);
            break;
        }
        ada.refresh = reply.expect(200).json()["refresh_token"]
            .as_str()
            .unwrap()
            .to_owned();
    }
    assert!(refused_at.is_some_and(|at| at >= 150), "{refused_at:?}");
    let mut limited = false;
    for n in 0..200 {
        let body = json!({ "username": format!("user{n}"), "password": "short" });
        limited |= identity
            .api
            .post("/api/auth/register")
            .json(body)
            .send()
            .await
            .status
            == 429;
    }
    assert!(limited);
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_trusted_proxy_limits_apply_to_the_forwarded_address() {
    let identity = Identity::start_with(|config| {
        config.rate_limits.enabled = Some(true);
        config.trusted_proxies.0 = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let login = async |from: &str| {
        let body = json!({ "username": "nobody", "password": "wrong" });
        identity
            .api
            .post("/api/auth/login")
            .header("x-forwarded-for", from)
            .json(body)
            .send()
            .await
            .status
    };
    for _ in 0..10 {
        assert_eq!(login("203.0.113.1").await, 401);
    }
    assert_eq!(login("203.0.113.1").await, 429);
    assert_eq!(login("203.0.113.2").await, 401);
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM audit_log WHERE address = '203.0.113.1'"),
        10
    );
}
