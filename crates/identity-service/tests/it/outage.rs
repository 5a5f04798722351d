use serde_json::json;
use test_kit::{ApiClient, Process, TestDb};

use crate::support::{PASSWORD, beginning, config, deps, refused, signed_in};

#[tokio::test(flavor = "multi_thread")]
async fn without_its_database_the_service_answers_503_and_is_not_ready() {
    let db = TestDb::empty("outage");
    let (clock, _hand) = service_kit::Clock::manual(beginning());
    let mut config = config(&db);
    config.database.url = Some("postgres://nobody@127.0.0.1:1/nothing".parse().unwrap());
    assert!(
        identity_service::start(config.clone(), deps(&clock))
            .await
            .is_err()
    );

    // With migrations by hand, the service may start before its database.
    config.database.migrate = false;
    let running = identity_service::start(config, deps(&clock)).await.unwrap();
    let api = ApiClient::new(running.base_url());
    let account = json!({ "username": "ada", "password": PASSWORD });
    for call in [
        api.get("/api/status"),
        api.get("/api/auth/user/1"),
        api.post("/api/auth/register").json(account.clone()),
        api.post("/api/auth/login").json(account),
        api.post("/api/auth/refresh")
            .json(json!({ "refresh_token": "A".repeat(64) })),
    ] {
        let reply = refused(call.send().await, 503, "unavailable");
        assert!(reply.header("retry-after").parse::<u64>().unwrap() > 0);
    }
    api.get("/health/live").send().await.expect(200);
    let ready = api.get("/health/ready").send().await.expect(503).json();
    assert_eq!(
        (&ready["ready"], &ready["database"]),
        (&json!(false), &json!("unreachable"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_status_requests_without_a_database_fail_together() {
    let db = TestDb::empty("away");
    let (clock, _hand) = service_kit::Clock::manual(beginning());
    let mut config = config(&db);
    config.database.url = Some("postgres://nobody@127.0.0.1:1/nothing".parse().unwrap());
    config.database.migrate = false;
    let running = identity_service::start(config, deps(&clock)).await.unwrap();
    let api = ApiClient::new(running.base_url());
    let begun = std::time::Instant::now();
    let calls: Vec<_> = (0..12)
        .map(|_| tokio::spawn(api.get("/api/status").send()))
        .collect();
    for call in calls {
        refused(call.await.unwrap(), 503, "unavailable");
    }
    // One after another, they would take two seconds each, twenty-four in all.
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_becomes_ready_once_pending_migrations_have_run() {
    let db = TestDb::empty("late");
    let (clock, _hand) = service_kit::Clock::manual(beginning());
    let mut config = config(&db);
    config.database.migrate = false;
    let running = identity_service::start(config, deps(&clock)).await.unwrap();
    let api = ApiClient::new(running.base_url());
    let ready = api.get("/health/ready").send().await.expect(503).json();
    let state = ready["database"].as_str().unwrap();
    assert!(state.ends_with(" migrations are pending"), "{state}");
    let pool = db.pool(1);
    service_kit::start::migrate(&pool, identity_service::MIGRATIONS)
        .await
        .unwrap();
    api.get("/health/ready").send().await.expect(200);
    let body = json!({ "username": "ada", "password": PASSWORD });
    api.post("/api/auth/register")
        .json(body)
        .send()
        .await
        .expect(201);
}

/// Starts the program on this database, with all logging on.
fn program(db: &TestDb, data: &std::path::Path) -> (Process, ApiClient) {
    let process = Process::start(
        env!("CARGO_BIN_EXE_identity-service").as_ref(),
        &["serve"],
        [
            ("IDENTITY__LISTEN", "127.0.0.1:0"),
            ("IDENTITY__BASE_URL", "https://id.example.com"),
            ("IDENTITY__DATABASE__URL", db.url()),
            ("IDENTITY__DATA_DIR", data.to_str().unwrap()),
            ("IDENTITY__PASSWORD__BCRYPT_COST", "10"),
            ("IDENTITY__DRAIN_SECONDS", "0"),
            ("RUST_LOG", "trace"),
        ],
    );
    let api = ApiClient::new(&process.wait_listening(&["identity"])["identity"]);
    (process, api)
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_changes_survive_kill_9_and_the_log_contains_no_secret() {
    let db = TestDb::empty("killed");
    let data = tempfile::tempdir().unwrap();
    let (mut process, api) = program(&db, data.path());
    let secret = "hunter2 hunter2";
    let account = json!({ "username": "ada", "password": secret, "email": "ada@example.com" });
    let ada = signed_in(
        &api.post("/api/auth/register")
            .json(account)
            .send()
            .await
            .expect(201)
            .json(),
    );
    let wrong = json!({ "username": "ada", "password": "wrong hunter3" });
    api.post("/api/auth/login")
        .json(wrong)
        .send()
        .await
        .expect(401);
    let next = api
        .post("/api/auth/refresh")
        .json(json!({ "refresh_token": ada.refresh }))
        .send()
        .await;
    let next = signed_in(&next.expect(200).json());
    // Tokens of invitations are parts of paths.
    let invitation = "T0kenOfAMailThatSomebodyGotAndNobodyElseHas";
    api.post(&format!("/api/invitations/{invitation}"))
        .bearer(&next.access)
        .send()
        .await
        .expect(404);
    process.kill();
    let mut log = process.stderr();

    let (mut process, api) = program(&db, data.path());
    api.get("/api/auth/validate")
        .bearer(&next.access)
        .send()
        .await
        .expect(200);
    let last = api
        .post("/api/auth/refresh")
        .json(json!({ "refresh_token": next.refresh }))
        .send()
        .await;
    let last = signed_in(&last.expect(200).json());
    api.post("/api/auth/logout")
        .bearer(&last.access)
        .send()
        .await
        .expect(200);
    assert!(process.terminate().success());
    assert_eq!(process.stdout().lines().count(), 1, "{}", process.stdout());
    log += &process.stderr();

    let key = std::fs::read_to_string(data.path().join("identity-keys.key")).unwrap();
    let secrets = [
        secret,
        "hunter3",
        invitation,
        key.trim(),
        &ada.access,
        &ada.refresh,
        &next.access,
        &next.refresh,
        &last.refresh,
    ];
    for secret in secrets {
        assert!(!log.contains(secret), "a secret is in the log");
    }
    assert!(log.contains("/api/auth/login"), "the log was read");
}
