//! A fake identity service that a test controls.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::web::{self, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use auth_types::wire::{Contact, ExistenceAnswer, ExistenceQuestion, ExistenceRequest};
use auth_types::{TeamId, TeamRole, UserId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::wait_until;

use crate::fake_sign_in::{self, SignIn};

/// Answers by token. `user-SCOPES` is Ada with these scopes (`+` between them, `.` for `:`; all if empty), `own-SCOPES` is Ada
/// through a first-party client, `slow-MS` is Ada after so many milliseconds, `KIND-ID` is that account. `broken` gets no JSON,
/// and a number that status; any other token is invalid.
#[derive(Clone, Default)]
pub struct FakeIdentity {
    validations: Arc<AtomicUsize>,
    pub request_ids: Arc<Mutex<Vec<String>>>,
    /// The sign-ins that were forwarded.
    pub sign_ins: Arc<Mutex<Vec<SignIn>>>,
    /// Tokens that are answered like others.
    aliases: Arc<Mutex<HashMap<String, String>>>,
    /// The accounts, teams and memberships that exist, as questions and answers.
    existing: Arc<Mutex<Vec<(ExistenceQuestion, ExistenceAnswer)>>>,
    /// Sessions that differ from their tokens.
    sessions: Arc<Mutex<HashMap<String, ExistenceAnswer>>>,
    /// While true, existence checks get a 503.
    pub is_down: Arc<AtomicBool>,
    existence_checks: Arc<AtomicUsize>,
    /// While a test locks it, every existence check waits.
    pub existence_lock: Arc<tokio::sync::Mutex<()>>,
}

/// The key that all parts share; `Service::with` has it in base64.
const SECRETS_KEY: [u8; 32] = [7; 32];

/// The `exp` of every valid token.
pub const EXPIRES_AT: i64 = 1_800_000_000;

impl FakeIdentity {
    pub fn validation_count(&self) -> usize {
        self.validations.load(Ordering::SeqCst)
    }

    /// Answers `token` like `other` from now on.
    pub fn answer_like(&self, token: &str, other: &str) {
        let mut aliases = self.aliases.lock().unwrap();
        aliases.insert(token.to_owned(), other.to_owned());
    }

    /// Makes this account, team or membership exist.
    pub fn add_existing(&self, user_id: Option<i64>, team_id: Option<i64>, role: Option<TeamRole>) {
        self.push_existing(user_id, team_id, role, None);
    }

    /// Sets the contact of this account or team.
    pub fn add_contact(&self, user_id: Option<i64>, team_id: Option<i64>, username: &str) {
        let (username, email) = (username.to_owned(), format!("{username}@example.com"));
        let plain = serde_json::to_vec(&Contact { username, email }).unwrap();
        let sealer = SealingKeys::new(&SECRETS_KEY, [])
            .sealer(Purpose::Questions)
            .unwrap();
        let contact = sealer.seal(Contact::SEAL_CONTEXT, &plain).unwrap();
        self.push_existing(user_id, team_id, None, Some(contact));
    }

    fn push_existing(
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
        self.existing.lock().unwrap().push((question, answer));
    }

    /// Ends this session, or changes its role in a team.
    pub fn set_session(&self, session_id: &str, exists: bool, role: Option<TeamRole>) {
        let answer = ExistenceAnswer {
            exists,
            role,
            contact: None,
        };
        let mut sessions = self.sessions.lock().unwrap();
        sessions.insert(session_id.to_owned(), answer);
    }

    /// Removes every account, team and membership.
    pub fn remove_all(&self) {
        self.existing.lock().unwrap().clear();
    }

    /// Returns how many existence checks about accounts, teams and memberships arrived.
    pub fn existence_check_count(&self) -> usize {
        self.existence_checks.load(Ordering::SeqCst)
    }

    pub async fn until_existence_checked(&self, times: usize) {
        wait_until("the existence check", Duration::from_secs(20), async || {
            (self.existence_check_count() >= times).then_some(())
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
                .route("/api/auth/existence", web::post().to(check_existence))
                .route("/api/auth/login", web::post().to(fake_sign_in::sign_in))
                .route("/health/live", web::get().to(HttpResponse::Ok))
        });
        let server = server.workers(1).disable_signals().bind(listen).unwrap();
        let addr = server.addrs()[0];
        tokio::spawn(server.run());
        addr
    }
}

async fn check_existence(
    body: web::Json<ExistenceRequest>,
    identity: Data<FakeIdentity>,
) -> HttpResponse {
    let sealer = SealingKeys::new(&SECRETS_KEY, [])
        .sealer(Purpose::Questions)
        .unwrap();
    let plain = sealer.open(ExistenceQuestion::SEAL_CONTEXT, &body.sealed);
    let plain = plain.unwrap();
    let question: ExistenceQuestion = serde_json::from_slice(plain.expose_secret()).unwrap();
    drop(identity.existence_lock.lock().await);
    if question.session_id.is_none() {
        identity.existence_checks.fetch_add(1, Ordering::SeqCst);
    }
    if identity.is_down.load(Ordering::SeqCst) {
        return HttpResponse::ServiceUnavailable().finish();
    }
    if let Some(session_id) = &question.session_id {
        let answer = identity.sessions.lock().unwrap().get(session_id).cloned();
        return HttpResponse::Ok().json(answer.unwrap_or(ExistenceAnswer {
            exists: true,
            role: Some(TeamRole::Owner),
            contact: None,
        }));
    }
    let existing = identity.existing.lock().unwrap();
    let found = existing.iter().find(|(known, _)| *known == question);
    let missing = ExistenceAnswer {
        exists: false,
        role: None,
        contact: None,
    };
    HttpResponse::Ok().json(found.map_or(missing, |(_, answer)| answer.clone()))
}

async fn validate(request: HttpRequest, identity: Data<FakeIdentity>) -> HttpResponse {
    identity.validations.fetch_add(1, Ordering::SeqCst);
    let header = |name: &str| {
        request
            .headers()
            .get(name)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    identity
        .request_ids
        .lock()
        .unwrap()
        .push(header("x-request-id"));
    assert_eq!(request.query_string(), "include=teams");
    let token = header("authorization").split_off("Bearer ".len());
    let alias = identity.aliases.lock().unwrap().get(&token).cloned();
    validation_response(alias.unwrap_or(token)).await
}

async fn validation_response(token: String) -> HttpResponse {
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
