//! The work-session service, started for a test.

use broker::Broker;
use serde_json::{Value, json};
use service_kit::{Clock, ManualClock};
use tempfile::TempDir;
use test_kit::{ApiClient, TestDb};

use crate::fake_identity::FakeIdentity;

/// The service with a database of its own.
pub struct Service {
    pub api: ApiClient,
    /// Moves the service's clock.
    pub clock: ManualClock,
    /// The service's clock.
    pub time: Clock,
    running: Option<worksession_service::RunningService>,
    config: Value,
    deps: worksession_service::Deps,
    pub database: TestDb,
    _data: TempDir,
}

impl Service {
    /// Starts the service with these settings on top of those that a test needs.
    pub async fn with(settings: Value, broker: Broker) -> Self {
        let database = TestDb::empty("worksession");
        let data = tempfile::tempdir().unwrap();
        let mut config = json!({
            "listen": "127.0.0.1:0",
            "workers": 1,
            "drain_seconds": 0,
            "data_dir": data.path(),
            "database": {"url": database.url(), "pool_size": 8},
            "sweep_seconds": 1,
            "leaderboard": {"remember_seconds": 0},
            "secrets": {"encryption_key": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="},
        });
        for (key, value) in settings.as_object().unwrap() {
            config[key] = value.clone();
        }
        let (time, clock) = Clock::manual("2026-11-23T09:00:00Z".parse().unwrap());
        let deps = worksession_service::Deps {
            clock: time.clone(),
            broker,
            bodies: None,
        };
        let (running, api) = run(&config, &deps).await;
        Self {
            api,
            clock,
            time,
            running: Some(running),
            config,
            deps,
            database,
            _data: data,
        }
    }

    /// Starts the service with the identity service at `identity_url`.
    pub async fn start(identity_url: &str, remember_ms: u64) -> Self {
        let settings = json!({"identity_url": identity_url, "auth": {"remember_ms": remember_ms}});
        Self::with(settings, Broker::memory()).await
    }

    /// Starts the service with a fake identity service.
    pub async fn with_fake_identity(remember_ms: u64) -> (Self, FakeIdentity) {
        let identity = FakeIdentity::default();
        let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
        (Self::start(&identity_url, remember_ms).await, identity)
    }

    /// Starts the service with leaderboards that are cached for so many seconds, and with a fake identity service.
    pub async fn with_leaderboard_cache(seconds: u64) -> (Self, FakeIdentity) {
        let identity = FakeIdentity::default();
        let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
        let leaderboard = json!({ "remember_seconds": seconds });
        let settings = json!({"identity_url": identity_url, "leaderboard": leaderboard});
        (Self::with(settings, Broker::memory()).await, identity)
    }

    /// Starts the service with these settings of the event stream, and with a fake identity service.
    pub async fn with_event_stream(live: Value) -> (Self, FakeIdentity) {
        let identity = FakeIdentity::default();
        let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
        let limits = json!({"enabled": false});
        let settings = json!({"identity_url": identity_url, "live": live, "rate_limits": limits});
        (Self::with(settings, Broker::memory()).await, identity)
    }

    /// Starts the service once more on the same database, as another process would.
    pub async fn start_second_process(&self) -> (worksession_service::RunningService, ApiClient) {
        run(&self.config, &self.deps).await
    }

    /// Creates a project of Ada's team.
    pub async fn team_project(&self) -> i64 {
        let call = self.api.post("/api/team-projects").bearer("user-");
        let made = call
            .json(json!({"team_id": 3, "name": "Beacon"}))
            .send()
            .await
            .expect(201);
        made.json()["id"].as_i64().unwrap()
    }

    /// Stops, runs `meanwhile`, and starts again on the same database.
    pub async fn restart(&mut self, meanwhile: impl AsyncFnOnce(&Self)) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        meanwhile(self).await;
        let (running, api) = run(&self.config, &self.deps).await;
        (self.running, self.api) = (Some(running), api);
    }

    pub async fn stop(mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }
}

async fn run(
    config: &Value,
    deps: &worksession_service::Deps,
) -> (worksession_service::RunningService, ApiClient) {
    let config = serde_json::from_value(config.clone()).expect("the configuration fits");
    let running = worksession_service::start(config, deps.clone())
        .await
        .expect("starts");
    let api = ApiClient::new(format!("http://{}", running.addr()));
    (running, api)
}
