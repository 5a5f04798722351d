use std::time::Duration;

use broker::Broker;
use chrono::{DateTime, Utc};
use db_kit::{Pool, on_backend};
use diesel::RunQueryDsl as _;
use diesel::connection::SimpleConnection as _;
use event_types::{Event, Mail, MailRequested};
use identity_service::{Config, Deps, RunningService, start};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use service_kit::config::SecretKey;
use service_kit::seal::{Purpose, SealingKeys};
use service_kit::{Clock, ManualClock};
use test_kit::{ApiClient, ApiResponse, TestDb, wait_until};

/// The key that seals the signing keys in every test.
pub(crate) const ENCRYPTION_KEY: [u8; 32] = [7; 32];
/// The key that seals the mails in every test.
pub(crate) const MAIL_KEY: [u8; 32] = [8; 32];
/// A password that follows every rule.
pub(crate) const PASSWORD: &str = "correct horse";

/// A running identity service with its own database and clock.
pub(crate) struct Identity {
    pub(crate) api: ApiClient,
    pub(crate) hand: ManualClock,
    pub(crate) clock: Clock,
    pub(crate) db: TestDb,
    pub(crate) running: RunningService,
}

/// A signed-in account with its tokens.
#[derive(Clone)]
pub(crate) struct SignedIn {
    pub(crate) id: i64,
    pub(crate) access: String,
    pub(crate) refresh: String,
}

/// Returns the moment at which every test begins.
pub(crate) fn beginning() -> DateTime<Utc> {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

pub(crate) fn config(db: &TestDb) -> Config {
    let mut config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        workers: Some(2),
        drain_seconds: 0,
        ..Config::default()
    };
    config.database.url = Some(db.database_url());
    config.keys.encryption_key = Some(SecretKey::new(ENCRYPTION_KEY));
    config.secrets.encryption_key = Some(SecretKey::new(MAIL_KEY));
    config.password.bcrypt_cost = 4;
    config.password.allow_weak_cost = true;
    config.rate_limits.enabled = Some(false);
    config
}

impl Identity {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let db = TestDb::empty("identity");
        let (clock, hand) = Clock::manual(beginning());
        let mut config = config(&db);
        change(&mut config);
        let running = start(config, deps(&clock)).await.unwrap();
        Self {
            api: ApiClient::new(running.base_url()),
            hand,
            clock,
            db,
            running,
        }
    }

    /// Starts another process on the same database.
    pub(crate) async fn replica(&self, issuer: &str) -> RunningService {
        let mut config = config(&self.db);
        config.base_url = Some(issuer.parse().unwrap());
        start(config, deps(&self.clock)).await.unwrap()
    }

    pub(crate) async fn register(&self, username: &str) -> SignedIn {
        let body = json!({ "username": username, "password": PASSWORD });
        signed_in(
            &self
                .api
                .post("/api/auth/register")
                .json(body)
                .send()
                .await
                .expect(201)
                .json(),
        )
    }

    pub(crate) async fn login(&self, username: &str, password: &str) -> ApiResponse {
        self.api
            .post("/api/auth/login")
            .json(json!({ "username": username, "password": password }))
            .send()
            .await
    }

    pub(crate) async fn refresh(&self, token: &str) -> ApiResponse {
        self.api
            .post("/api/auth/refresh")
            .json(json!({ "refresh_token": token }))
            .send()
            .await
    }

    pub(crate) async fn validate(&self, token: &str) -> ApiResponse {
        self.api
            .get("/api/auth/validate")
            .bearer(token)
            .send()
            .await
    }

    /// Waits until this valid token is validated from the cache: its session has been read, and the change feed is up,
    /// whose start empties the cache.
    pub(crate) async fn remembers(&self, token: &str) {
        wait_until("a memory", Duration::from_secs(10), async || {
            let statements = || self.api.statements("GET", "/api/auth/validate");
            let before = statements().await;
            // Several calls, because the change of the registration may arrive in between and cause one more read.
            for _ in 0..20 {
                self.validate(token).await.expect(200);
            }
            (statements().await == before).then_some(())
        })
        .await;
    }

    /// Runs one SQL statement behind the service's back.
    pub(crate) fn sql(&self, statement: &str) {
        let pool = self.db.pool(1);
        pool.read_blocking(|db| {
            on_backend!(db, c => diesel::sql_query(statement).execute(c))
                .map(drop)
                .map_err(db_kit::DbError::from)
        })
        .unwrap();
    }

    /// Returns the mails in the outbox, oldest first.
    pub(crate) fn mails(&self) -> Vec<Mail> {
        let sealer = SealingKeys::new(&MAIL_KEY, [])
            .sealer(Purpose::Mails)
            .unwrap();
        let bodies = texts(
            &self.db.pool(1),
            "SELECT body AS t FROM outbox WHERE routing_key = 'mail.requested.v1' ORDER BY id",
        );
        let open = |body: &String| {
            let event: MailRequested = Event::decode(body.as_bytes()).unwrap().data_as().unwrap();
            let context = MailRequested::seal_context(&event.template);
            let plain = sealer.open_text(&context, &event.sealed).unwrap();
            serde_json::from_str(plain.expose_secret()).unwrap()
        };
        bodies.iter().map(open).collect()
    }

    /// Returns the data of the events of one type in the outbox, oldest first.
    pub(crate) fn events(&self, event_type: &str) -> Vec<Value> {
        let query =
            format!("SELECT body AS t FROM outbox WHERE routing_key = '{event_type}' ORDER BY id");
        texts(&self.db.pool(1), &query)
            .iter()
            .map(|body| Event::decode(body.as_bytes()).unwrap().data.read().unwrap())
            .collect()
    }

    /// Returns one number from the database.
    pub(crate) fn count(&self, query: &str) -> i64 {
        count(&self.db.pool(1), query)
    }
}

pub(crate) fn deps(clock: &Clock) -> Deps {
    Deps {
        clock: clock.clone(),
        broker: Broker::memory(),
        has_consumers: false,
    }
}

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

#[derive(diesel::QueryableByName)]
struct Line {
    #[diesel(sql_type = diesel::sql_types::Text)]
    t: String,
}

/// Returns the results of a query whose only column is named `t`.
pub(crate) fn texts(pool: &Pool, query: &str) -> Vec<String> {
    let lines = pool.read_blocking(|db| {
        on_backend!(db, c => diesel::sql_query(query).load::<Line>(c))
            .map_err(db_kit::DbError::from)
    });
    lines.unwrap().into_iter().map(|line| line.t).collect()
}

/// Returns the result of a query whose only column is named `n`.
pub(crate) fn count(pool: &Pool, query: &str) -> i64 {
    pool.read_blocking(|db| {
        on_backend!(db, c => diesel::sql_query(query).get_result::<Count>(c))
            .map_err(db_kit::DbError::from)
    })
    .unwrap()
    .n
}

/// Makes a call while another transaction has written `sql`. That transaction commits when the call waits for it.
pub(crate) async fn while_written<T>(
    identity: &Identity,
    sql: String,
    call: impl Future<Output = T>,
) -> T {
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let (written, begun) = tokio::sync::oneshot::channel();
    let pool = identity.db.pool(1);
    let other = tokio::task::spawn_blocking(move || {
        pool.write_tx_blocking(|db| {
            db.batch_execute(&sql)?;
            let _ = written.send(());
            let _ = wait.recv_timeout(Duration::from_secs(4));
            Ok::<_, db_kit::DbError>(())
        })
        .unwrap();
    });
    begun.await.unwrap();
    let commit = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        go_on.send(()).unwrap();
        other.await.unwrap();
    };
    tokio::join!(call, commit).0
}

pub(crate) fn signed_in(pair: &Value) -> SignedIn {
    SignedIn {
        id: pair["user"]["id"].as_i64().unwrap(),
        access: pair["access_token"].as_str().unwrap().to_owned(),
        refresh: pair["refresh_token"].as_str().unwrap().to_owned(),
    }
}

/// Checks the status, code and form of an error.
#[track_caller]
pub(crate) fn refused(reply: ApiResponse, status: u16, code: &str) -> ApiResponse {
    let reply = reply.expect(status);
    let body = reply.json();
    assert_eq!(body["error"], code, "{}: {body}", reply.call);
    assert!(
        body["error_description"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{body}"
    );
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    reply
}
