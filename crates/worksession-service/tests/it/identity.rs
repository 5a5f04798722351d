//! A fake identity service that a test controls, and the work-session service that calls it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::web::{self, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use auth_types::wire::{Contact, ExistenceAnswer, ExistenceQuestion, ExistenceRequest};
use auth_types::{TeamId, TeamRole, UserId};
use broker::Broker;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};
use service_kit::{Clock, ManualClock};
use tempfile::TempDir;
use test_kit::{ApiClient, TestDb, wait_until};

use crate::sign_in::{self, SignIn};

/// Answers by token. `user-SCOPES` is Ada with these scopes (`+` between them, `.` for `:`; all if empty), `own-SCOPES` is Ada
/// through a first-party client, `slow-MS` is Ada after so many milliseconds, `KIND-ID` is that account. `broken` gets no JSON,
/// and a number that status; any other token is invalid.
#[derive(Clone, Default)]
pub struct Stub {
    pub asked: Arc<AtomicUsize>,
    pub request_ids: Arc<Mutex<Vec<String>>>,
    /// The sign-ins that were forwarded.
    pub sign_ins: Arc<Mutex<Vec<SignIn>>>,
    /// Tokens that are answered like others.
    instead: Arc<Mutex<HashMap<String, String>>>,
    /// What still exists, as questions and answers; everything else is gone.
    there: Arc<Mutex<Vec<(ExistenceQuestion, ExistenceAnswer)>>>,
    /// Sessions that are not as their tokens say.
    sign_ins_now: Arc<Mutex<HashMap<String, ExistenceAnswer>>>,
    /// While true, questions about existence get a 503.
    pub is_away: Arc<AtomicBool>,
    existence_asked: Arc<AtomicUsize>,
    /// While a test locks it, every question about existence waits.
    pub existence_turn: Arc<tokio::sync::Mutex<()>>,
}

/// The key that all parts share; [`Service::with`] has it in base64.
const SECRETS_KEY: [u8; 32] = [7; 32];

/// The `exp` of every valid token.
pub const EXPIRES_AT: i64 = 1_800_000_000;

impl Stub {
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Answers `token` like `other` from now on.
    pub fn count_as(&self, token: &str, other: &str) {
        let mut instead = self.instead.lock().unwrap();
        instead.insert(token.to_owned(), other.to_owned());
    }

    /// Makes this account, team or membership exist.
    pub fn is_there(&self, user_id: Option<i64>, team_id: Option<i64>, role: Option<TeamRole>) {
        self.push(user_id, team_id, role, None);
    }

    /// Sets the contact of this account or team.
    pub fn writes_to(&self, user_id: Option<i64>, team_id: Option<i64>, username: &str) {
        let (username, email) = (username.to_owned(), format!("{username}@example.com"));
        let plain = serde_json::to_vec(&Contact { username, email }).unwrap();
        let sealer = SealingKeys::new(&SECRETS_KEY, [])
            .sealer(Purpose::Questions)
            .unwrap();
        let contact = sealer.seal(Contact::SEAL_CONTEXT, &plain).unwrap();
        self.push(user_id, team_id, None, Some(contact));
    }

    fn push(
        &self,
        user_id: Option<i64>,
        team_id: Option<i64>,
        role: Option<TeamRole>,
        contact: Option<String>,
    ) {
        let question = ExistenceQuestion {
            user_id: user_id.and_then(UserId::new),
            team_id: team_id.and_then(TeamId::new),
            session_id: None,
        };
        let answer = ExistenceAnswer {
            exists: true,
            role,
            contact,
        };
        self.there.lock().unwrap().push((question, answer));
    }

    /// Ends this session, or changes its role in a team.
    pub fn sign_in_is(&self, session_id: &str, exists: bool, role: Option<TeamRole>) {
        let answer = ExistenceAnswer {
            exists,
            role,
            contact: None,
        };
        let mut sign_ins = self.sign_ins_now.lock().unwrap();
        sign_ins.insert(session_id.to_owned(), answer);
    }

    /// Removes every account, team and membership.
    pub fn nobody_is_there(&self) {
        self.there.lock().unwrap().clear();
    }

    /// Returns how many questions about accounts, teams and memberships arrived.
    pub fn existence_asked(&self) -> usize {
        self.existence_asked.load(Ordering::SeqCst)
    }

    pub async fn until_existence_asked(&self, times: usize) {
        wait_until("the question", Duration::from_secs(20), async || {
            (self.existence_asked() >= times).then_some(())
        })
        .await;
    }

    /// Starts the server at `listen`.
    pub fn start(&self, listen: &str) -> SocketAddr {
        let data = Data::new(self.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(data.clone())
                .route("/api/auth/validate", web::get().to(validate))
                .route("/api/auth/existence", web::post().to(existence))
                .route("/api/auth/login", web::post().to(sign_in::stub))
                .route("/health/live", web::get().to(HttpResponse::Ok))
        });
        let server = server.workers(1).disable_signals().bind(listen).unwrap();
        let addr = server.addrs()[0];
        tokio::spawn(server.run());
        addr
    }
}

async fn existence(body: web::Json<ExistenceRequest>, stub: Data<Stub>) -> HttpResponse {
    let sealer = SealingKeys::new(&SECRETS_KEY, [])
        .sealer(Purpose::Questions)
        .unwrap();
    let plain = sealer.open(ExistenceQuestion::SEAL_CONTEXT, &body.sealed);
    let plain = plain.unwrap();
    let question: ExistenceQuestion = serde_json::from_slice(plain.expose_secret()).unwrap();
    drop(stub.existence_turn.lock().await);
    if question.session_id.is_none() {
        stub.existence_asked.fetch_add(1, Ordering::SeqCst);
    }
    if stub.is_away.load(Ordering::SeqCst) {
        return HttpResponse::ServiceUnavailable().finish();
    }
    if let Some(session_id) = &question.session_id {
        let answer = stub.sign_ins_now.lock().unwrap().get(session_id).cloned();
        return HttpResponse::Ok().json(answer.unwrap_or(ExistenceAnswer {
            exists: true,
            role: Some(TeamRole::Owner),
            contact: None,
        }));
    }
    let there = stub.there.lock().unwrap();
    let known = there.iter().find(|(known, _)| *known == question);
    let gone = ExistenceAnswer {
        exists: false,
        role: None,
        contact: None,
    };
    HttpResponse::Ok().json(known.map_or(gone, |(_, answer)| answer.clone()))
}

async fn validate(request: HttpRequest, stub: Data<Stub>) -> HttpResponse {
    stub.asked.fetch_add(1, Ordering::SeqCst);
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    stub.request_ids
        .lock()
        .unwrap()
        .push(header("x-request-id"));
    assert_eq!(request.query_string(), "include=teams");
    let token = header("authorization").split_off("Bearer ".len());
    let instead = stub.instead.lock().unwrap().get(&token).cloned();
    judge(instead.unwrap_or(token)).await
}

async fn judge(token: String) -> HttpResponse {
    if let Some(scopes) = token.strip_prefix("user-") {
        let scope = (!scopes.is_empty()).then(|| scopes.replace('+', " ").replace('.', ":"));
        let mut body = ada(scope);
        if body["scope"].is_string() {
            body["client_id"] = json!("user");
        }
        return HttpResponse::Ok().json(body);
    }
    if let Some(scopes) = token.strip_prefix("own-") {
        let mut body = ada(Some(scopes.replace('+', " ").replace('.', ":")));
        body["origin"] = json!("first_party");
        return HttpResponse::Ok().json(body);
    }
    if let Some(milliseconds) = token.strip_prefix("slow-") {
        let wait = Duration::from_millis(milliseconds.parse().unwrap());
        tokio::time::sleep(wait).await;
        return HttpResponse::Ok().json(ada(None));
    }
    if let Some((kind, id)) = token.split_once('-') {
        let mut body = ada(None);
        body["user"]["id"] = json!(id.parse::<i64>().unwrap());
        body["user"]["username"] = json!(format!("person{id}"));
        match kind {
            "sso" | "othersso" => {
                body["origin"] = json!("sso");
                body["session_id"] = json!(format!("{kind}{id}"));
            }
            // An owner with a known session.
            "signedin" => body["session_id"] = json!(format!("signedin{id}")),
            // OAuth clients.
            "app" | "otherapp" => {
                body["scope"] = json!("sessions:read integrations:write teams teams:write");
                body["session_id"] = json!(format!("{kind}{id}"));
                body["client_id"] = json!(kind);
            }
            // A first-party client.
            "ours" => {
                body["origin"] = json!("first_party");
                body["scope"] = json!("sessions:read integrations:write teams");
                body["session_id"] = json!(format!("{kind}{id}"));
                body["client_id"] = json!(kind);
            }
            "verified" => {
                body["user"]["email"] = json!(format!("person{id}@example.com"));
                body["user"]["email_verified"] = json!(true);
            }
            // An OAuth client without the scope `email`.
            "nameless" => {
                body["user"]["email"] = Value::Null;
                body["scope"] = json!("sessions:read integrations:write teams teams:write");
                body["client_id"] = json!("app");
            }
            // The same client with the scope `email`.
            "named" => {
                body["user"]["email"] = json!(format!("person{id}@example.com"));
                body["user"]["email_verified"] = json!(true);
                body["scope"] = json!("sessions:read integrations:write teams teams:write email");
                body["client_id"] = json!("app");
            }
            "outsider" => body["teams"] = json!([]),
            "colleague" => body["teams"][0]["role"] = json!("member"),
            _ => {}
        }
        return HttpResponse::Ok().json(body);
    }
    match token.as_str() {
        "broken" => return HttpResponse::Ok().body("<html>"),
        "anonymous" => return HttpResponse::Ok().json(json!({"valid": true})),
        _ => {}
    }
    let status = token
        .parse::<u16>()
        .ok()
        .and_then(|code| code.try_into().ok());
    HttpResponse::build(status.unwrap_or(actix_web::http::StatusCode::UNAUTHORIZED)).finish()
}

pub fn ada(scope: Option<String>) -> Value {
    let user = json!({
        "id": 7, "username": "ada", "email": "ada@placeholder.invalid", "email_verified": false,
        "bio": null, "website_url": null, "profile_photo_url": null, "has_profile_photo": false,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        "is_active": true, "role": "USER", "premium_tier": "FREE",
    });
    let mut body = user.clone();
    body["valid"] = json!(true);
    body["user"] = user;
    body["token_type"] = json!("access");
    body["expires_at"] = json!(EXPIRES_AT);
    body["teams"] = json!([{"id": 3, "slug": "engines", "name": "Engines", "role": "owner"}]);
    if let Some(scope) = scope {
        body["scope"] = json!(scope);
    }
    body
}

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

    /// Starts the service with the identity service at `identity`.
    pub async fn start(identity: &str, remember_ms: u64) -> Self {
        let settings = json!({"identity_url": identity, "auth": {"remember_ms": remember_ms}});
        Self::with(settings, Broker::memory()).await
    }

    /// Starts the service with a fake identity service.
    pub async fn with_stub(remember_ms: u64) -> (Self, Stub) {
        let stub = Stub::default();
        let identity = stub.start("127.0.0.1:0");
        (
            Self::start(&format!("http://{identity}"), remember_ms).await,
            stub,
        )
    }

    /// Starts the service with leaderboards that are cached for so many seconds, and with a fake identity service.
    pub async fn with_board_memory(seconds: u64) -> (Self, Stub) {
        let stub = Stub::default();
        let identity = format!("http://{}", stub.start("127.0.0.1:0"));
        let board = json!({ "remember_seconds": seconds });
        let settings = json!({"identity_url": identity, "leaderboard": board});
        (Self::with(settings, Broker::memory()).await, stub)
    }

    /// Starts the service with these settings of the event stream, and with a fake identity service.
    pub async fn live(live: Value) -> (Self, Stub) {
        let stub = Stub::default();
        let identity = format!("http://{}", stub.start("127.0.0.1:0"));
        let limits = json!({"enabled": false});
        let settings = json!({"identity_url": identity, "live": live, "rate_limits": limits});
        (Self::with(settings, Broker::memory()).await, stub)
    }

    /// Starts another process of the service on the same database.
    pub async fn beside(&self) -> (worksession_service::RunningService, ApiClient) {
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
