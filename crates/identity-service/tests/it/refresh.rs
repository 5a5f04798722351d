use std::collections::HashSet;

use chrono::Duration;
use diesel::connection::SimpleConnection as _;
use test_kit::TestBackend;

use crate::support::{Identity, PASSWORD, refused, signed_in};

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_token_gets_a_new_pair_for_the_same_session() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let reply = identity.refresh(&ada.refresh).await.expect(200);
    assert_eq!(reply.header("cache-control"), "no-store");
    insta::assert_json_snapshot!("refresh", reply.json(), { ".access_token" => "[access token]", ".refresh_token" => "[refresh token]" });
    let next = signed_in(&reply.json());
    assert_ne!(next.refresh, ada.refresh);
    identity.validate(&next.access).await.expect(200);
    identity.validate(&ada.access).await.expect(200);
    identity.refresh(&next.refresh).await.expect(200);
    assert_eq!(identity.count("SELECT count(*) AS n FROM sessions"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_string_that_is_no_issued_refresh_token_is_refused() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let never_issued = "A".repeat(64);
    for token in [
        "",
        "nonsense",
        &never_issued,
        &ada.access,
        &ada.refresh[1..],
        &format!("{}A", ada.refresh),
        &"x".repeat(9_000),
    ] {
        refused(identity.refresh(token).await, 401, "invalid_refresh_token");
    }
    refused(
        identity
            .api
            .post("/api/auth/refresh")
            .json(serde_json::json!({}))
            .send()
            .await,
        400,
        "validation_failed",
    );
    identity.refresh(&ada.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_presented_again_within_thirty_seconds_gets_the_same_successor() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let first = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    identity.hand.advance(Duration::seconds(30));
    let again = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    assert_eq!(again.refresh, first.refresh);
    assert_ne!(again.access, first.access);
    identity.refresh(&again.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_refresh_token_ends_only_its_own_session() {
    let identity = Identity::start().await;
    let victim = identity.register("ada").await;
    let other = signed_in(&identity.login("ada", PASSWORD).await.expect(200).json());
    let next = signed_in(&identity.refresh(&victim.refresh).await.expect(200).json());
    identity.hand.advance(Duration::milliseconds(30_001));
    refused(
        identity.refresh(&victim.refresh).await,
        401,
        "refresh_token_reused",
    );
    refused(
        identity.refresh(&next.refresh).await,
        401,
        "invalid_refresh_token",
    );
    refused(identity.validate(&next.access).await, 401, "token_revoked");
    refused(
        identity.validate(&victim.access).await,
        401,
        "token_revoked",
    );
    identity.validate(&other.access).await.expect(200);
    identity.refresh(&other.refresh).await.expect(200);
    assert_eq!(
        identity
            .count("SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked_by_reuse'"),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_counts_as_reused_at_once_if_its_successor_has_been_used() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let next = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    let newest = signed_in(&identity.refresh(&next.refresh).await.expect(200).json());
    refused(
        identity.refresh(&ada.refresh).await,
        401,
        "refresh_token_reused",
    );
    refused(
        identity.refresh(&newest.refresh).await,
        401,
        "invalid_refresh_token",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_any_age_is_recognized_as_reused() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let mut newest = ada.refresh.clone();
    for _ in 0..20 {
        newest = signed_in(&identity.refresh(&newest).await.expect(200).json()).refresh;
    }
    refused(
        identity.refresh(&ada.refresh).await,
        401,
        "refresh_token_reused",
    );
    refused(
        identity.refresh(&newest).await,
        401,
        "invalid_refresh_token",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_refreshes_leave_one_lineage() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let attempts: Vec<_> = (0..50)
        .map(|_| {
            let (api, token) = (identity.api.clone(), ada.refresh.clone());
            tokio::spawn(async move {
                let body = serde_json::json!({ "refresh_token": token });
                api.post("/api/auth/refresh")
                    .json(body)
                    .send()
                    .await
                    .expect(200)
                    .json()
            })
        })
        .collect();
    let mut successors = HashSet::new();
    for attempt in attempts {
        let pair = signed_in(&attempt.await.unwrap());
        identity.validate(&pair.access).await.expect(200);
        successors.insert(pair.refresh);
    }
    assert_eq!(successors.len(), 1);
    let newest = successors.into_iter().next().unwrap();
    identity.refresh(&newest).await.expect(200);
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM sessions WHERE revoked_at IS NULL"),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_refreshes_at_two_processes_get_one_successor() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let there = identity.replica(identity.running.base_url()).await;
    let there = test_kit::ApiClient::new(format!("http://{}", there.addr()));
    let attempts: Vec<_> = (0..50)
        .map(|n| {
            let api = if n % 2 == 0 { &identity.api } else { &there };
            let body = serde_json::json!({ "refresh_token": ada.refresh });
            tokio::spawn(api.post("/api/auth/refresh").json(body).send())
        })
        .collect();
    let mut successors = HashSet::new();
    for attempt in attempts {
        let pair = signed_in(&attempt.await.unwrap().expect(200).json());
        identity.validate(&pair.access).await.expect(200);
        successors.insert(pair.refresh);
    }
    assert_eq!(successors.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reuses_of_a_token_end_its_session_once() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let next = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    identity.refresh(&next.refresh).await.expect(200);
    let attempts: Vec<_> = (0..20)
        .map(|_| {
            let body = serde_json::json!({ "refresh_token": ada.refresh });
            tokio::spawn(identity.api.post("/api/auth/refresh").json(body).send())
        })
        .collect();
    let mut reused = 0;
    for attempt in attempts {
        let reply = attempt.await.unwrap().expect(401);
        match reply.json()["error"].as_str() {
            Some("refresh_token_reused") => reused += 1,
            // A later caller finds the session ended.
            other => assert_eq!(other, Some("invalid_refresh_token")),
        }
    }
    assert!(reused > 0);
    assert_eq!(
        identity
            .count("SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked_by_reuse'"),
        1
    );
    assert_eq!(identity.events("identity.session_revoked.v1").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_an_inactive_account_is_refused_but_not_used_up() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let repeated = identity.register("bob").await;
    identity.refresh(&repeated.refresh).await.expect(200);
    identity.sql("UPDATE users SET is_active = FALSE");
    for token in [&ada.refresh, &repeated.refresh, &ada.refresh] {
        refused(identity.refresh(token).await, 401, "invalid_refresh_token");
    }
    identity.sql("UPDATE users SET is_active = TRUE");
    identity.hand.advance(Duration::days(1));
    identity.refresh(&ada.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_of_a_revoked_session_can_be_refreshed() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let next = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    let logout = identity.api.post("/api/auth/logout").bearer(&next.access);
    logout.send().await.expect(200);
    // The older token does not count as reused, because its session has already ended.
    for token in [&next.refresh, &ada.refresh] {
        refused(identity.refresh(token).await, 401, "invalid_refresh_token");
    }
    assert_eq!(
        identity
            .count("SELECT count(*) AS n FROM audit_log WHERE action = 'session.revoked_by_reuse'"),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_expires_after_ninety_idle_days_and_after_a_year() {
    let identity = Identity::start().await;
    let idle = identity.register("idle").await;
    let busy = identity.register("busy").await;
    identity.hand.advance(Duration::days(89));
    let mut newest = signed_in(&identity.refresh(&busy.refresh).await.expect(200).json()).refresh;
    identity.hand.advance(Duration::days(1));
    refused(
        identity.refresh(&idle.refresh).await,
        401,
        "invalid_refresh_token",
    );
    for _ in 0..3 {
        identity.hand.advance(Duration::days(88));
        newest = signed_in(&identity.refresh(&newest).await.expect(200).json()).refresh;
    }
    // 354 days have passed.
    identity.hand.advance(Duration::days(11));
    refused(
        identity.refresh(&newest).await,
        401,
        "invalid_refresh_token",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_or_password_is_stored_in_clear() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let next = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    for secret in [&ada.refresh, &next.refresh, &ada.access] {
        let found = identity.count(&format!(
            "SELECT count(*) AS n FROM sessions WHERE refresh_hash = '{secret}' OR refresh_previous_hash = '{secret}' OR refresh_lineage = '{secret}' OR id = '{secret}'"
        ));
        assert_eq!(found, 0);
    }
    assert_eq!(
        identity.count("SELECT count(*) AS n FROM users WHERE password_hash LIKE '%horse%'"),
        0
    );
    assert_eq!(
        identity
            .count("SELECT count(*) AS n FROM signing_keys WHERE private_key_sealed LIKE 'v2.%'"),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn refreshing_an_unknown_token_does_not_wait_for_the_database_writer() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let mut other = identity.db.pool(1).dedicated().unwrap();
    let lock = match TestBackend::current() {
        TestBackend::Sqlite => "BEGIN IMMEDIATE",
        TestBackend::Postgres => "BEGIN; SELECT 1 FROM sessions FOR UPDATE",
    };
    other.batch_execute(lock).unwrap();
    // The sessions are locked against other writers now.
    let never_issued = "A".repeat(64);
    refused(
        identity.refresh(&never_issued).await,
        401,
        "invalid_refresh_token",
    );
    other.batch_execute("ROLLBACK").unwrap();
    identity.refresh(&ada.refresh).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_that_waits_for_a_locked_session_does_not_delay_others() {
    // On SQLite there is one writer for all sessions.
    if TestBackend::current() == TestBackend::Sqlite {
        return;
    }
    let identity = Identity::start().await;
    let (ada, bob) = (
        identity.register("ada").await,
        identity.register("bob").await,
    );
    let mut other = identity.db.pool(1).dedicated().unwrap();
    let held = format!(
        "BEGIN; SELECT 1 FROM sessions WHERE user_id = {} FOR UPDATE",
        ada.id
    );
    other.batch_execute(&held).unwrap();
    let held = identity.refresh(&ada.refresh);
    tokio::pin!(held);
    let mut token = bob.refresh;
    for _ in 0..20 {
        // The locked refresh is polled first, each time.
        let reply = tokio::select! {
            biased;
            reply = &mut held => panic!("{} while it is held", reply.status),
            reply = identity.refresh(&token) => reply.expect(200).json(),
        };
        token = signed_in(&reply).refresh;
    }
    other.batch_execute("ROLLBACK").unwrap();
    held.await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_refresh_tokens_are_rate_limited_by_address_and_valid_ones_are_not() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let ada = identity.register("ada").await;
    // The limit refills while the test runs, so a slow machine gets more attempts.
    for attempt in 1.. {
        let reply = identity.refresh(&"A".repeat(64)).await;
        if reply.status == 429 {
            let reply = refused(reply, 429, "rate_limited");
            assert!(reply.header("retry-after").parse::<u64>().unwrap() >= 1);
            assert!(attempt > 60, "{attempt}");
            break;
        }
        refused(reply, 401, "invalid_refresh_token");
        assert!(attempt < 200);
    }
    identity.refresh(&ada.refresh).await.expect(200);
}
