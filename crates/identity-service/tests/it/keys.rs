use identity_service::{MIGRATIONS, start};
use service_kit::config::SecretKey;
use test_kit::{ApiClient, TestBackend, TestDb};

use crate::support::{Identity, config, deps, refused};

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_start_concurrently_agree_on_one_signing_key() {
    // Replicas share a PostgreSQL server. On SQLite the processes share a file, which must exist before they start together.
    let db = match TestBackend::current() {
        TestBackend::Postgres => TestDb::empty("replicas"),
        TestBackend::Sqlite => TestDb::fresh("replicas", MIGRATIONS).await,
    };
    let (clock, _hand) = service_kit::Clock::manual(crate::support::beginning());
    let mut starting = Vec::new();
    for _ in 0..4 {
        let mut config = config(&db);
        config.base_url = Some("https://id.example.com".parse().unwrap());
        let deps = deps(&clock);
        starting.push(tokio::spawn(
            async move { start(config, deps).await.unwrap() },
        ));
    }
    let mut replicas = Vec::new();
    for replica in starting {
        replicas.push(replica.await.unwrap());
    }
    let api = |at: usize| ApiClient::new(format!("http://{}", replicas[at].addr()));
    let body = serde_json::json!({ "username": "ada", "password": crate::support::PASSWORD });
    let pair = api(0)
        .post("/api/auth/register")
        .json(body)
        .send()
        .await
        .expect(201)
        .json();
    for at in 0..4 {
        api(at)
            .get("/api/auth/validate")
            .bearer(pair["access_token"].as_str().unwrap())
            .send()
            .await
            .expect(200);
    }
    assert_eq!(
        crate::support::count(&db.pool(1), "SELECT count(*) AS n FROM signing_keys"),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_replica_is_found_when_a_token_names_it() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    // The other replica rotates: the old key is retired, and a new one signs.
    identity
        .sql("UPDATE signing_keys SET retired_at = '2026-11-21 12:00:00', private_key_sealed = ''");
    let other = identity.replica(identity.running.base_url()).await;
    let api = ApiClient::new(format!("http://{}", other.addr()));
    let body = serde_json::json!({ "username": "ada", "password": crate::support::PASSWORD });
    let pair = api
        .post("/api/auth/login")
        .json(body)
        .send()
        .await
        .expect(200)
        .json();
    assert_eq!(identity.count("SELECT count(*) AS n FROM signing_keys"), 2);
    identity
        .validate(pair["access_token"].as_str().unwrap())
        .await
        .expect(200);
    // Tokens that the retired key signed stay valid.
    api.get("/api/auth/validate")
        .bearer(&ada.access)
        .send()
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_encryption_key_stops_the_start_and_its_setting_is_named() {
    let identity = Identity::start().await;
    let mut config = config(&identity.db);
    config.keys.encryption_key = Some(SecretKey::new([9; 32]));
    let error = start(config, deps(&identity.clock)).await.unwrap_err();
    let sentence = error.to_string();
    assert!(sentence.starts_with("signing keys: "), "{sentence}");
    assert!(
        sentence.contains("IDENTITY__KEYS__ENCRYPTION_KEY"),
        "{sentence}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_base_url_invalidates_old_tokens() {
    let identity = Identity::start().await;
    let ada = identity.register("ada").await;
    let moved = identity.replica("https://elsewhere.example.com").await;
    let api = ApiClient::new(format!("http://{}", moved.addr()));
    refused(
        api.get("/api/auth/validate")
            .bearer(&ada.access)
            .send()
            .await,
        401,
        "invalid_token",
    );
}
