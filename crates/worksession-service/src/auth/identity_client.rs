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

use super::circuit_breaker::{CallOutcome, IdentityBreaker};
use super::token_cache::TokenCache;
use super::{AuthFailure, CurrentUser};

/// The time limit of a request to the identity service, including the wait for a permit.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of requests in flight. A request that waits for a permit uses no socket and no thread.
const IN_FLIGHT: usize = 256;
/// A request that waited longer than this for a permit had less than its time at the identity service. Its timeout
/// therefore does not count as a failure.
const SHORT_WAIT: Duration = Duration::from_millis(20);
/// An address of nobody (RFC 5737), to test whether the identity service trusts forwarded addresses.
const TEST_ADDRESS: &str = "192.0.2.1";
const ADDRESS_NOT_TRUSTED: &str = "identity service: it does not trust the client addresses of forwarded sign-ins, and counts everybody who signs \
     in here as one caller: IDENTITY__TRUSTED_PROXIES must include the address of this service";
/// Shorter than the server's [`service_kit::server::KEEP_ALIVE`], so that this side closes idle connections first.
const IDLE: Duration = Duration::from_secs(30);

/// The client of the identity service: validates tokens and forwards sign-ins over persistent connections.
pub(crate) struct IdentityClient {
    pub(super) http: reqwest::Client,
    validate_url: Url,
    live_url: Url,
    serving_url: Url,
    pub(super) login_url: Url,
    pub(super) existence_url: Url,
    permits: Semaphore,
    /// Separate from `permits`, so that a flood of sign-ins does not delay signed-in users.
    pub(super) sign_in_permits: Semaphore,
    pub(super) breaker: IdentityBreaker,
    token_cache: Option<TokenCache>,
    clock: Clock,
    pub(super) internal_secret: Option<InternalSecret>,
    /// Whether the identity service trusted forwarded addresses at the last check.
    is_trusted: AtomicBool,
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
    /// Creates a client of the identity service at `base`. Successful validations are reused for `cache_lifetime`; zero
    /// disables that. `internal_secret` is the secret of an identity service in the same process.
    ///
    /// # Errors
    /// When `base` cannot be a base URL, TLS cannot be set up, or a metric is already registered.
    pub(crate) fn new(
        base: &Url,
        cache_lifetime: Duration,
        clock: Clock,
        metrics: &Metrics,
        internal_secret: Option<&InternalSecret>,
    ) -> Result<Self, IdentityClientError> {
        let http = reqwest::ClientBuilder::new()
            .tls_backend_preconfigured(service_kit::tls::client_config())
            .pool_idle_timeout(IDLE)
            .redirect(Policy::none())
            .no_proxy()
            .build()?;
        let mut validate_url = join_url(base, "/api/auth/validate")?;
        validate_url.set_query(Some("include=teams"));
        Ok(Self {
            http,
            validate_url,
            live_url: join_url(base, "/health/live")?,
            serving_url: join_url(base, "/health/serving")?,
            login_url: join_url(base, "/api/auth/login")?,
            existence_url: join_url(base, "/api/auth/existence")?,
            permits: Semaphore::new(IN_FLIGHT),
            sign_in_permits: Semaphore::new(IN_FLIGHT),
            breaker: IdentityBreaker::new(metrics)?,
            token_cache: (!cache_lifetime.is_zero()).then(|| TokenCache::new(cache_lifetime)),
            clock,
            internal_secret: internal_secret.cloned(),
            is_trusted: AtomicBool::new(true),
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
        let Some(cache) = &self.token_cache else {
            return self.validate_uncached(token, request_id).await;
        };
        let key = sha256(token.as_bytes());
        if let Some(user) = cache.find(&key, &self.clock) {
            return Ok(user);
        }
        let requested_at = Instant::now();
        let user = self.validate_uncached(token, request_id).await?;
        cache.insert(key, Arc::clone(&user), requested_at);
        Ok(user)
    }

    /// Stops using validations of this user that were requested before now. This applies to the current process; in others
    /// they expire.
    pub(crate) fn invalidate_user(&self, user: UserId) {
        if let Some(cache) = &self.token_cache {
            cache.invalidate(user);
        }
    }

    /// Returns whether the identity service trusts the client addresses that are forwarded; none if it does not answer within
    /// `limit`. Logs a change.
    pub(crate) async fn ping(&self, limit: Duration) -> Option<bool> {
        self.ping_url(&self.live_url, limit).await
    }

    /// Checks the same, but only to log a change. The path does not count as a health report in metrics.
    pub(crate) async fn check_address_trust(&self) {
        self.ping_url(&self.serving_url, REQUEST_TIMEOUT).await;
    }

    async fn ping_url(&self, url: &Url, limit: Duration) -> Option<bool> {
        let mut request = self.http.get(url.clone());
        request = request.header("x-forwarded-for", TEST_ADDRESS);
        if let Some(secret) = &self.internal_secret {
            request = request.header(InternalSecret::HEADER, secret.expose());
        }
        let response = timeout(limit, request.send()).await.ok()?.ok()?;
        let reported = response.headers().get(CLIENT_ADDRESS);
        let is_trusted = reported.is_none_or(|reported| reported == TEST_ADDRESS);
        if !response.status().is_success() {
            return None;
        }
        let was_trusted = self.is_trusted.swap(is_trusted, Ordering::Relaxed);
        match (was_trusted, is_trusted) {
            (true, false) => log::error!("{ADDRESS_NOT_TRUSTED}"),
            (false, true) => {
                log::info!("identity service: trusts the client addresses of forwarded sign-ins")
            }
            _ => {}
        }
        Some(is_trusted)
    }

    async fn validate_uncached(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> Result<Arc<CurrentUser>, AuthFailure> {
        let began = Instant::now();
        if self.breaker.is_refusing(began) {
            return Err(AuthFailure::Unavailable);
        }
        let until = (began + REQUEST_TIMEOUT).into();
        let Ok(Ok(_permit)) = timeout_at(until, self.permits.acquire()).await else {
            log::warn!(request_id:% = request_id; "identity service: too many requests wait");
            return Err(AuthFailure::Unavailable);
        };
        // The circuit may have opened during the wait for a permit.
        let Some(permit) = self.breaker.admit(Instant::now()) else {
            return Err(AuthFailure::Unavailable);
        };
        let has_full_time = permit.granted_at - began < SHORT_WAIT;
        let response = timeout_at(until, self.request_validation(token, request_id)).await;
        let (outcome, result) = match response {
            Ok(Ok((status, body))) => classify_response(status, &body),
            Ok(Err(cause)) => failure(cause.to_string()),
            Err(_) if has_full_time => failure("no answer in time".to_owned()),
            Err(_) => (CallOutcome::Unknown, Err(Some("no time left".to_owned()))),
        };
        self.breaker.record_outcome(permit, outcome, Instant::now());
        result.map_err(|cause| match cause {
            None => AuthFailure::BadToken,
            Some(cause) => {
                log::warn!(request_id:% = request_id; "identity service: {cause}");
                AuthFailure::Unavailable
            }
        })
    }

    /// Requests a validation, and returns the status and body of the response.
    async fn request_validation(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> reqwest::Result<(StatusCode, Bytes)> {
        let get = async || {
            let request = self.http.get(self.validate_url.clone()).bearer_auth(token);
            let request = request.header("x-request-id", request_id.as_str());
            let response = request.send().await?;
            Ok::<_, reqwest::Error>((response.status(), response.bytes().await?))
        };
        match get().await {
            // The peer may have closed an idle connection. A validation can safely be repeated.
            Err(cause) if cause.is_request() || cause.is_connect() => get().await,
            response => response,
        }
    }
}

impl std::fmt::Debug for IdentityClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdentityClient")
            .field("live_url", &self.live_url.as_str())
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
fn classify_response(status: StatusCode, body: &[u8]) -> (CallOutcome, ValidationResult) {
    match status {
        StatusCode::OK => match decode_user(body) {
            Ok(user) => (CallOutcome::Success, Ok(Arc::new(user))),
            Err(cause) => failure(cause),
        },
        StatusCode::UNAUTHORIZED => (CallOutcome::Success, Err(None)),
        // Such as 400, 429 or 431: the service works and rejects only this request. If it counted as a failure, one client
        // with a malformed token could block everybody.
        _ if status.is_client_error() => (
            CallOutcome::Unknown,
            Err(Some(format!("answered {status}"))),
        ),
        _ => failure(format!("answered {status}")),
    }
}

fn failure(cause: String) -> (CallOutcome, ValidationResult) {
    (CallOutcome::Failed, Err(Some(cause)))
}

fn decode_user(body: &[u8]) -> Result<CurrentUser, String> {
    let validated: ValidatedToken =
        serde_json::from_slice(body).map_err(|cause| format!("unreadable response: {cause}"))?;
    let token_expires_at = DateTime::from_timestamp(validated.expires_at, 0)
        .ok_or_else(|| "expires_at is not a time".to_owned())?;
    // An unknown origin is not first-party.
    let is_first_party = match validated.origin.as_deref() {
        None => validated.scope.is_none(),
        origin => origin == Some("first_party"),
    };
    Ok(CurrentUser {
        is_first_party,
        id: validated.user.id,
        username: validated.user.username,
        email: validated.user.email,
        email_verified: validated.user.email_verified,
        teams: validated.teams,
        token_expires_at,
        scope: validated.scope,
        session_id: validated.session_id,
        client_id: validated.client_id,
    })
}
