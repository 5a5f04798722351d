use std::time::Duration as StdDuration;

use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use test_kit::wait_until;

use crate::rotation;
use crate::support::{Identity, PASSWORD, beginning, refused, signed_in};

const PATIENCE: StdDuration = StdDuration::from_secs(20);

/// Starts a service that runs its housekeeping every second.
async fn tidy(rotate_days: u16) -> Identity {
    Identity::start_with(|config| {
        config.housekeeping_seconds = 1;
        config.keys.rotate_days = rotate_days;
    })
    .await
}

async fn until_count(identity: &Identity, query: &str, n: i64) {
    let probe = async || (identity.count(query) == n).then_some(());
    wait_until(query, PATIENCE, probe).await;
}

/// Formats a moment as a literal for both databases.
fn sql(at: DateTime<Utc>) -> String {
    at.format("'%Y-%m-%d %H:%M:%S'").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn housekeeping_removes_expired_rows_and_keeps_needed_ones() {
    let identity = tidy(0).await;
    let ada = identity.register("ada").await;
    let bob = json!({ "username": "bob", "password": PASSWORD, "email": "bob@example.com" });
    let bob = identity
        .api
        .post("/api/auth/register")
        .json(bob)
        .send()
        .await;
    let bob = signed_in(&bob.expect(201).json());
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    let now = beginning();
    identity.sql(&format!(
        "INSERT INTO teams (name, slug, slug_lower, owner_id, created_at, updated_at) VALUES ('t', 't', 't', {}, {now}, {now})",
        ada.id,
        now = sql(now)
    ));
    let invite = |id: &str, status: &str, expires: i64, settled: &str| {
        identity.sql(&format!(
            "INSERT INTO invitations (id, team_id, email, email_lower, role, status, token_hash, created_at, expires_at, settled_at) \
             VALUES ('{id}', 1, '{id}@x.example', '{id}@x.example', 'member', '{status}', '{id}', {}, {}, {settled})",
            sql(now), sql(now + Duration::days(expires))
        ));
    };
    invite("settled", "declined", 7, &sql(now));
    invite("pending", "pending", 7, "NULL");
    invite("later", "pending", 90, "NULL");
    for (user, confirmed) in [(ada.id, "NULL".to_owned()), (bob.id, sql(now))] {
        identity.sql(&format!(
            "INSERT INTO totp_factors (user_id, secret_sealed, created_at, confirmed_at) VALUES ({user}, 'x', {}, {confirmed})",
            sql(now)
        ));
    }

    // After a day, housekeeping removes the mail link, the claim on its address and the unconfirmed second factor.
    identity.hand.advance(Duration::hours(25));
    until_count(&identity, "SELECT count(*) AS n FROM mail_tokens", 0).await;
    until_count(&identity, "SELECT count(*) AS n FROM email_claims", 0).await;
    until_count(&identity, "SELECT count(*) AS n FROM totp_factors", 1).await;
    assert_eq!(identity.count("SELECT count(*) AS n FROM sessions"), 2);
    assert_eq!(identity.count("SELECT count(*) AS n FROM invitations"), 3);

    // After a month, both sessions are still stored.
    identity.hand.advance(Duration::days(30));
    let lapsed = sql(now);
    identity.sql(&format!(
        "INSERT INTO email_claims (email_lower, user_id, expires_at) VALUES ('x', {}, {lapsed})",
        ada.id
    ));
    until_count(&identity, "SELECT count(*) AS n FROM email_claims", 0).await;
    assert_eq!(identity.count("SELECT count(*) AS n FROM sessions"), 2);
    refused(identity.validate(&ada.access).await, 401, "token_expired");
    refused(
        identity.refresh(&ada.refresh).await,
        401,
        "invalid_refresh_token",
    );
    let bob = signed_in(&identity.refresh(&bob.refresh).await.expect(200).json());

    // A session is removed 90 days after its revocation, an invitation 90 days after it was settled or expired.
    identity.hand.advance(Duration::days(60));
    until_count(&identity, "SELECT count(*) AS n FROM sessions", 1).await;
    until_count(&identity, "SELECT count(*) AS n FROM invitations", 2).await;
    identity.hand.advance(Duration::days(7));
    until_count(&identity, "SELECT count(*) AS n FROM invitations", 1).await;

    // Bob's session expired 90 days after its last use, and is kept for 90 more.
    identity.hand.advance(Duration::days(24));
    refused(
        identity.refresh(&bob.refresh).await,
        401,
        "invalid_refresh_token",
    );
    assert_eq!(identity.count("SELECT count(*) AS n FROM sessions"), 1);
    identity.hand.advance(Duration::days(90));
    until_count(&identity, "SELECT count(*) AS n FROM sessions", 0).await;
    until_count(&identity, "SELECT count(*) AS n FROM invitations", 0).await;

    let metrics = identity.api.get("/metrics").send().await.expect(200).text();
    assert!(
        metrics.contains("housekeeping_removed_total{kind=\"session\"} 2"),
        "{metrics}"
    );
    assert!(
        metrics.contains("housekeeping_removed_total{kind=\"invitation\"} 3"),
        "{metrics}"
    );
    assert!(
        metrics.contains("housekeeping_failures_total 0"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_housekeeping_run_removes_more_rows_than_one_batch() {
    let identity = tidy(0).await;
    let ada = identity.register("ada").await;
    let now = beginning();
    let long_ago = sql(now - Duration::days(91));
    let rows: Vec<String> = (0..1_200)
        .map(|n| {
            format!(
                "('s{n}', {}, {long_ago}, {long_ago}, 'l{n}', 'h', {long_ago}, {long_ago})",
                ada.id
            )
        })
        .collect();
    identity.sql(&format!(
        "INSERT INTO sessions (id, user_id, created_at, expires_at, refresh_lineage, refresh_hash, refresh_rotated_at, refresh_expires_at) VALUES {}",
        rows.join(", ")
    ));
    identity.hand.advance(Duration::hours(1));
    until_count(&identity, "SELECT count(*) AS n FROM sessions", 1).await;
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_kept_for_as_long_as_its_last_access_token_lives() {
    let year = 365 * 86_400;
    let identity = Identity::start_with(|config| {
        config.housekeeping_seconds = 1;
        config.tokens.access_ttl_seconds = year;
    })
    .await;
    let ada = identity.register("ada").await;
    identity
        .hand
        .advance(Duration::seconds(year.into()) - Duration::minutes(1));
    let bob = identity.register("bob").await;
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&bob.access)
        .send()
        .await
        .expect(200);
    // The removal of this claim shows that housekeeping has run.
    identity.sql("INSERT INTO email_claims (email_lower, user_id, expires_at) VALUES ('x', 1, '2026-11-21 12:00:00')");
    until_count(&identity, "SELECT count(*) AS n FROM email_claims", 0).await;
    identity.validate(&ada.access).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_changes_are_removed_by_the_databases_clock() {
    let identity = tidy(0).await;
    let ada = identity.register("ada").await;
    identity
        .api
        .post("/api/auth/logout")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
    let changes = identity.count("SELECT count(*) AS n FROM changes");
    assert!(changes > 0);
    identity.sql(
        "INSERT INTO changes (at, kind, subject) VALUES ('2020-01-01 00:00:00.000', 'teams', '')",
    );
    until_count(&identity, "SELECT count(*) AS n FROM changes", changes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_housekeeping_of_replicas_does_each_task_once() {
    let identity = tidy(90).await;
    let mut replicas = Vec::new();
    for _ in 0..3 {
        let mut config = crate::support::config(&identity.db);
        config.base_url = Some(identity.running.base_url().parse().unwrap());
        config.housekeeping_seconds = 1;
        let deps = crate::support::deps(&identity.clock);
        replicas.push(identity_service::start(config, deps).await.unwrap());
    }
    let ada = identity.register("ada").await;
    identity.hand.advance(Duration::days(45));
    let ada = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    identity.hand.advance(Duration::days(45));
    until_count(&identity, "SELECT count(*) AS n FROM signing_keys", 2).await;
    let before = rotation::kid(&ada.access);
    let ada = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    assert_eq!(rotation::kid(&ada.access), before);
    // This process has read the key, which another replica may have created.
    let published = async || (rotation::jwks(&identity.api).await.len() == 2).then_some(());
    wait_until("both keys to be published", PATIENCE, published).await;
    // The new key signs once every client can have read it. The old key's private half is removed within the hour.
    identity.hand.advance(Duration::minutes(6));
    let ada = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    assert_ne!(rotation::kid(&ada.access), before);
    identity.hand.advance(Duration::hours(1));
    let private = "SELECT count(*) AS n FROM signing_keys WHERE private_key_sealed <> '' AND algorithm = 'ES256'";
    until_count(&identity, private, 1).await;
    let ada = signed_in(&identity.refresh(&ada.refresh).await.expect(200).json());
    for replica in &replicas {
        let api = test_kit::ApiClient::new(format!("http://{}", replica.addr()));
        api.get("/api/auth/validate")
            .bearer(&ada.access)
            .send()
            .await
            .expect(200);
    }
    // Tokens of the old key expire after 30 days, and the key is removed a day later.
    identity.hand.advance(Duration::days(31));
    identity.hand.advance(Duration::seconds(1));
    let keys = "SELECT count(*) AS n FROM signing_keys WHERE algorithm = 'ES256'";
    until_count(&identity, keys, 1).await;
    let once = |action: &str| {
        let query = format!(
            "SELECT count(*) AS n FROM audit_log WHERE via = 'system' AND action = '{action}'"
        );
        assert_eq!(identity.count(&query), 1, "{action}");
    };
    once("keys.rotated");
    once("keys.removed");
    for replica in replicas {
        replica.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_not_rotated_by_age_when_rotation_is_off() {
    let identity = tidy(0).await;
    identity.register("ada").await;
    identity.hand.advance(Duration::days(4_000));
    until_count(&identity, "SELECT count(*) AS n FROM sessions", 0).await;
    assert_eq!(identity.count("SELECT count(*) AS n FROM signing_keys"), 1);
}
