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
use service_kit::http::{InternalSecret, RequestId, join_url};
use service_kit::metrics::Metrics;
use service_kit::server::CLIENT_ADDRESS;
use tokio::sync::Semaphore;
use tokio::time::{timeout, timeout_at};
use url::Url;

use super::breaker::{IdentityBreaker, Verdict};
use super::memory::TokenCache;
use super::{AuthFailure, CurrentUser};

/// The time limit of a request to the identity service, including the wait for a permit.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of requests in flight. A request that waits for a permit uses no socket and no thread.
const IN_FLIGHT: usize = 256;
/// A request that waited longer than this for a permit had less than its time at the identity service. Its timeout
/// therefore does not count as a failure.
const AT_ONCE: Duration = Duration::from_millis(20);
/// An address of nobody (RFC 5737), to test whether the identity service trusts forwarded addresses.
const SOMEBODY: &str = "192.0.2.1";
const UNBELIEVED: &str = "identity service: it does not trust the client addresses of forwarded sign-ins, and counts everybody who signs \
     in here as one caller: IDENTITY__TRUSTED_PROXIES must include the address of this service";
/// Shorter than the server's [`service_kit::server::KEEP_ALIVE`], so that this side closes idle connections first.
const IDLE: Duration = Duration::from_secs(30);

/// The client of the identity service: validates tokens and forwards sign-ins over persistent connections.
pub(crate) struct IdentityClient {
    pub(super) http: reqwest::Client,
    validate: Url,
    live: Url,
    serving: Url,
    pub(super) login: Url,
    pub(super) existence: Url,
    turns: Semaphore,
    /// Separate from `turns`, so that a flood of sign-ins does not delay signed-in users.
    pub(super) sign_ins: Semaphore,
    pub(super) breaker: IdentityBreaker,
    remembered: Option<TokenCache>,
    clock: Clock,
    pub(super) inside: Option<InternalSecret>,
    /// Whether the identity service trusted forwarded addresses at the last check.
    is_believed: AtomicBool,
}

/// The fields of the validation response that are used here. The shared `ValidateResponse` is flattened, so serde would
/// buffer the whole body for every request.
#[derive(Deserialize)]
struct ValidatedToken {
    user: ValidatedAccount,
    expires_at: i64,
    scope: Option<String>,
    origin: Option<String>,
    session_id: Option<String>,
    client_id: Option<String>,
    #[serde(default)]
    teams: Vec<TeamMembership>,
}

#[derive(Deserialize)]
struct ValidatedAccount {
    id: UserId,
    username: String,
    email: Option<String>,
    #[serde(default)]
    email_verified: bool,
}

impl IdentityClient {
    /// Creates a client of the identity service at `base`. Successful validations are reused for `remember`; zero disables
    /// that. `inside` is the secret of an identity service in the same process.
    ///
    /// # Errors
    /// When `base` cannot be a base URL, TLS cannot be set up, or a metric is already registered.
    pub(crate) fn new(
        base: &Url,
        remember: Duration,
        clock: Clock,
        metrics: &Metrics,
        inside: Option<&InternalSecret>,
    ) -> Result<Self, IdentityClientError> {
        let http = reqwest::ClientBuilder::new()
            .tls_backend_preconfigured(service_kit::tls::client_config())
            .pool_idle_timeout(IDLE)
            .redirect(Policy::none())
            .no_proxy()
            .build()?;
        let mut validate = join_url(base, "/api/auth/validate")?;
        validate.set_query(Some("include=teams"));
        Ok(Self {
            http,
            validate,
            live: join_url(base, "/health/live")?,
            serving: join_url(base, "/health/serving")?,
            login: join_url(base, "/api/auth/login")?,
            existence: join_url(base, "/api/auth/existence")?,
            turns: Semaphore::new(IN_FLIGHT),
            sign_ins: Semaphore::new(IN_FLIGHT),
            breaker: IdentityBreaker::new(metrics)?,
            remembered: (!remember.is_zero()).then(|| TokenCache::new(remember)),
            clock,
            inside: inside.cloned(),
            is_believed: AtomicBool::new(true),
        })
    }

    /// Returns the account of a token.
    ///
    /// # Errors
    /// [`AuthFailure::BadToken`] when the identity service rejects it, [`AuthFailure::Unavailable`] without a usable response.
    pub(crate) async fn validate(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> Result<Arc<CurrentUser>, AuthFailure> {
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

    /// Stops using validations of this user that were requested before now. This applies to the current process; in others
    /// they expire.
    pub(crate) fn forget(&self, user: UserId) {
        if let Some(memory) = &self.remembered {
            memory.forget(user);
        }
    }

    /// Returns whether the identity service trusts the client addresses that are forwarded; none if it does not answer within
    /// `patience`. Logs a change.
    pub(crate) async fn ping_identity(&self, patience: Duration) -> Option<bool> {
        self.look(&self.live, patience).await
    }

    /// Checks the same, but only to log a change. The path does not count as a health report in metrics.
    pub(crate) async fn check_trust(&self) {
        self.look(&self.serving, PATIENCE).await;
    }

    async fn look(&self, path: &Url, patience: Duration) -> Option<bool> {
        let mut request = self.http.get(path.clone());
        request = request.header("x-forwarded-for", SOMEBODY);
        if let Some(inside) = &self.inside {
            request = request.header(InternalSecret::HEADER, inside.expose());
        }
        let answer = timeout(patience, request.send()).await.ok()?.ok()?;
        let seen = answer.headers().get(CLIENT_ADDRESS);
        let is_believed = seen.is_none_or(|seen| seen == SOMEBODY);
        if !answer.status().is_success() {
            return None;
        }
        let was_believed = self.is_believed.swap(is_believed, Ordering::Relaxed);
        match (was_believed, is_believed) {
            (true, false) => log::error!("{UNBELIEVED}"),
            (false, true) => {
                log::info!("identity service: trusts the client addresses of forwarded sign-ins")
            }
            _ => {}
        }
        Some(is_believed)
    }

    async fn ask(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> Result<Arc<CurrentUser>, AuthFailure> {
        let began = Instant::now();
        if self.breaker.refuses(began) {
            return Err(AuthFailure::Unavailable);
        }
        let until = (began + PATIENCE).into();
        let Ok(Ok(_turn)) = timeout_at(until, self.turns.acquire()).await else {
            log::warn!(request_id:% = request_id; "identity service: too many requests wait");
            return Err(AuthFailure::Unavailable);
        };
        // The circuit may have opened during the wait for a permit.
        let Some(question) = self.breaker.admit(Instant::now()) else {
            return Err(AuthFailure::Unavailable);
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
            None => AuthFailure::BadToken,
            Some(cause) => {
                log::warn!(request_id:% = request_id; "identity service: {cause}");
                AuthFailure::Unavailable
            }
        })
    }

    /// Requests a validation, and returns the status and body of the response.
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
            // The peer may have closed an idle connection. A validation can safely be repeated.
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

/// Why a client of the identity service cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityClientError {
    #[error("identity_url: {0}")]
    Address(#[from] url::ParseError),
    #[error("HTTP client: {0}")]
    Http(#[from] reqwest::Error),
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// The account, or the cause for the log. A rejected token has no cause.
type ValidationResult = Result<Arc<CurrentUser>, Option<String>>;

/// Classifies a response by what it says about the identity service and about the token.
fn judge(status: StatusCode, body: &[u8]) -> (Verdict, ValidationResult) {
    match status {
        StatusCode::OK => match read(body) {
            Ok(user) => (Verdict::Success, Ok(Arc::new(user))),
            Err(cause) => failed(cause),
        },
        StatusCode::UNAUTHORIZED => (Verdict::Success, Err(None)),
        // Such as 400, 429 or 431: the service works and rejects only this request. If it counted as a failure, one client
        // with a malformed token could block everybody.
        _ if status.is_client_error() => {
            (Verdict::Nothing, Err(Some(format!("answered {status}"))))
        }
        _ => failed(format!("answered {status}")),
    }
}

fn failed(cause: String) -> (Verdict, ValidationResult) {
    (Verdict::Failed, Err(Some(cause)))
}

fn read(body: &[u8]) -> Result<CurrentUser, String> {
    let answer: ValidatedToken =
        serde_json::from_slice(body).map_err(|cause| format!("unreadable response: {cause}"))?;
    let token_expires_at = DateTime::from_timestamp(answer.expires_at, 0)
        .ok_or_else(|| "expires_at is not a time".to_owned())?;
    // An unknown origin is not first-party.
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
