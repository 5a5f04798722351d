use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::web::Bytes;
use auth_types::UserId;
use auth_types::wire::TeamMembership;
use chrono::DateTime;
use reqwest::StatusCode;
use reqwest::redirect::Policy;
use serde::Deserialize;
use service_kit::Clock;
use service_kit::crypto::sha256;
use service_kit::http::{Inside, RequestId, below};
use service_kit::metrics::Metrics;
use service_kit::server::CLIENT_ADDRESS;
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};
use url::Url;

use super::breaker::{Breaker, Verdict};
use super::memory::Memory;
use super::{CurrentUser, Refusal};

/// How long the identity service may take, waiting for a turn included.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// Questions on their way at once. What waits for a turn costs a future, no socket and no thread.
const IN_FLIGHT: usize = 256;
/// Who waited longer than this for a turn has given the identity service less than its time: that it did
/// not answer says nothing then.
const AT_ONCE: Duration = Duration::from_millis(20);
/// Stands for somebody's address (RFC 5737) when we ask whether what we say of addresses is believed.
const SOMEBODY: &str = "192.0.2.1";
const UNBELIEVED: &str = "identity service: it does not believe for whom sign-ins are passed on, and counts everybody who signs \
     in here as one caller: the address of this service is missing in IDENTITY__TRUSTED_PROXIES";
/// Shorter than an idle connection is kept by the other side ([`service_kit::server::KEEP_ALIVE`]), so that we close first.
const IDLE: Duration = Duration::from_secs(30);

/// Asks the identity service who a token belongs to, and passes sign-ins on to it, over kept connections.
pub(crate) struct IdentityClient {
    pub(super) http: reqwest::Client,
    validate: Url,
    live: Url,
    serving: Url,
    pub(super) login: Url,
    pub(super) existence: Url,
    turns: Semaphore,
    /// Apart from the others' turns: a flood of sign-ins must not slow those who are signed in.
    pub(super) sign_ins: Semaphore,
    pub(super) breaker: Breaker,
    remembered: Option<Memory>,
    clock: Clock,
    pub(super) inside: Option<Inside>,
    /// Whether it believed for whom we ask when it was last asked that.
    is_believed: AtomicBool,
}

/// The part of validate's answer that is needed here. The shared `ValidateResponse` is flattened, and
/// serde would buffer the whole body to read it: this runs for every request.
#[derive(Deserialize)]
struct Validated {
    user: Account,
    expires_at: i64,
    scope: Option<String>,
    origin: Option<String>,
    session_id: Option<String>,
    client_id: Option<String>,
    #[serde(default)]
    teams: Vec<TeamMembership>,
}

#[derive(Deserialize)]
struct Account {
    id: UserId,
    username: String,
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
}

impl IdentityClient {
    /// A client of the identity service at `base`; good answers serve for `remember` (zero: never). `inside` for one in
    /// the same process.
    ///
    /// # Errors
    /// When the address cannot be a base, or TLS cannot be set up.
    pub(crate) fn new(
        base: &Url,
        remember: Duration,
        clock: Clock,
        metrics: &Metrics,
        inside: Option<&Inside>,
    ) -> Result<Self, IdentityClientError> {
        let http = reqwest::ClientBuilder::new()
            .tls_backend_preconfigured(service_kit::tls::client_config())
            .pool_idle_timeout(IDLE)
            .redirect(Policy::none())
            .no_proxy()
            .build()?;
        let mut validate = below(base, "/api/auth/validate")?;
        validate.set_query(Some("include=teams"));
        Ok(Self {
            http,
            validate,
            live: below(base, "/health/live")?,
            serving: below(base, "/health/serving")?,
            login: below(base, "/api/auth/login")?,
            existence: below(base, "/api/auth/existence")?,
            turns: Semaphore::new(IN_FLIGHT),
            sign_ins: Semaphore::new(IN_FLIGHT),
            breaker: Breaker::new(metrics)?,
            remembered: (!remember.is_zero()).then(|| Memory::new(remember)),
            clock,
            inside: inside.cloned(),
            is_believed: AtomicBool::new(true),
        })
    }

    /// The account behind a token.
    ///
    /// # Errors
    /// [`Refusal::BadToken`] when the identity service refuses it, [`Refusal::Unavailable`] when it gives no usable answer.
    pub(crate) async fn validate(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> Result<Arc<CurrentUser>, Refusal> {
        let Some(memory) = &self.remembered else {
            return self.ask(token, request_id).await;
        };
        let key = sha256(token.as_bytes());
        if let Some(user) = memory.find(&key, &self.clock) {
            return Ok(user);
        }
        let asked = Instant::now();
        let user = self.ask(token, request_id).await?;
        memory.keep(key, Arc::clone(&user), asked);
        Ok(user)
    }

    /// Uses no answer about this user that was asked for until now. In this process alone: in others what
    /// they remember ends by its age.
    pub(crate) fn forget(&self, user: UserId) {
        if let Some(memory) = &self.remembered {
            memory.forget(user);
        }
    }

    /// Whether the identity service trusts the client address that we forward; none when it does not answer within `patience`. A
    /// change is logged.
    pub(crate) async fn sign_of_life(&self, patience: Duration) -> Option<bool> {
        self.look(&self.live, patience).await
    }

    /// Asks the same only to log it, on a path that does not count as a health report in the metrics.
    pub(crate) async fn check_trust(&self) {
        self.look(&self.serving, PATIENCE).await;
    }

    async fn look(&self, path: &Url, patience: Duration) -> Option<bool> {
        let mut request = self.http.get(path.clone());
        request = request.header("x-forwarded-for", SOMEBODY);
        if let Some(inside) = &self.inside {
            request = request.header(Inside::HEADER, inside.expose());
        }
        let answer = timeout(patience, request.send()).await.ok()?.ok()?;
        let seen = answer.headers().get(CLIENT_ADDRESS);
        let is_believed = seen.is_none_or(|seen| seen == SOMEBODY);
        if !answer.status().is_success() {
            return None;
        }
        match (
            self.is_believed.swap(is_believed, Ordering::Relaxed),
            is_believed,
        ) {
            (true, false) => log::error!("{UNBELIEVED}"),
            (false, true) => {
                log::info!("identity service: believes for whom sign-ins are passed on")
            }
            _ => {}
        }
        Some(is_believed)
    }

    async fn ask(&self, token: &str, request_id: &RequestId) -> Result<Arc<CurrentUser>, Refusal> {
        let began = Instant::now();
        if self.breaker.refuses(began) {
            return Err(Refusal::Unavailable);
        }
        let until = (began + PATIENCE).into();
        let Ok(Ok(_turn)) = timeout_at(until, self.turns.acquire()).await else {
            log::warn!(request_id:% = request_id; "identity service: too many questions wait");
            return Err(Refusal::Unavailable);
        };
        // Who waited for a turn may have waited for what is known by now.
        let Some(question) = self.breaker.admit(Instant::now()) else {
            return Err(Refusal::Unavailable);
        };
        let had_its_time = question.asked - began < AT_ONCE;
        let answer = timeout_at(until, self.get(token, request_id)).await;
        let (verdict, outcome) = match answer {
            Ok(Ok((status, body))) => judge(status, &body),
            Ok(Err(cause)) => failed(cause.to_string()),
            Err(_) if had_its_time => failed("no answer in time".to_owned()),
            Err(_) => (Verdict::Nothing, Err(Some("no time left".to_owned()))),
        };
        self.breaker.learn(question, verdict, Instant::now());
        outcome.map_err(|cause| match cause {
            None => Refusal::BadToken,
            Some(cause) => {
                log::warn!(request_id:% = request_id; "identity service: {cause}");
                Refusal::Unavailable
            }
        })
    }

    /// The status and the body with which validate answers.
    async fn get(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> reqwest::Result<(StatusCode, Bytes)> {
        let get = async || {
            let request = self.http.get(self.validate.clone()).bearer_auth(token);
            let request = request.header("x-request-id", request_id.as_str());
            let response = request.send().await?;
            Ok::<_, reqwest::Error>((response.status(), response.bytes().await?))
        };
        match get().await {
            // A kept connection may have been closed under us; asking again is harmless.
            Err(cause) if cause.is_request() || cause.is_connect() => get().await,
            answer => answer,
        }
    }
}

impl std::fmt::Debug for IdentityClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdentityClient")
            .field("live", &self.live.as_str())
            .finish_non_exhaustive()
    }
}

/// Why no client of the identity service can be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityClientError {
    #[error("identity_url: {0}")]
    Address(#[from] url::ParseError),
    #[error("HTTP client: {0}")]
    Http(#[from] reqwest::Error),
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// The account, or the cause for the log, or no cause for a token that was refused.
type Outcome = Result<Arc<CurrentUser>, Option<String>>;

/// What an answer says about the identity service, and about the token.
fn judge(status: StatusCode, body: &[u8]) -> (Verdict, Outcome) {
    match status {
        StatusCode::OK => match read(body) {
            Ok(user) => (Verdict::Well, Ok(Arc::new(user))),
            Err(cause) => failed(cause),
        },
        StatusCode::UNAUTHORIZED => (Verdict::Well, Err(None)),
        // Such as 400, 429 or 431: it answers, and means this request. Were it counted, one client with an
        // odd token could shut out everybody.
        _ if status.is_client_error() => {
            (Verdict::Nothing, Err(Some(format!("answered {status}"))))
        }
        _ => failed(format!("answered {status}")),
    }
}

fn failed(cause: String) -> (Verdict, Outcome) {
    (Verdict::Failed, Err(Some(cause)))
}

fn read(body: &[u8]) -> Result<CurrentUser, String> {
    let answer: Validated =
        serde_json::from_slice(body).map_err(|cause| format!("unreadable answer: {cause}"))?;
    let token_expires_at = DateTime::from_timestamp(answer.expires_at, 0)
        .ok_or_else(|| "expires_at is no time".to_owned())?;
    // An origin that is not known yet is none of ours.
    let is_first_party = match answer.origin.as_deref() {
        None => answer.scope.is_none(),
        origin => origin == Some("first_party"),
    };
    Ok(CurrentUser {
        is_first_party,
        id: answer.user.id,
        username: answer.user.username,
        email: answer.user.email,
        email_verified: answer.user.email_verified,
        teams: answer.teams,
        token_expires_at,
        scope: answer.scope,
        session_id: answer.session_id,
        client_id: answer.client_id,
    })
}
