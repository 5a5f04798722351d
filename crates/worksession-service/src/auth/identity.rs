use std::sync::Arc;
use std::time::{Duration, Instant};

use auth_types::UserId;
use auth_types::wire::TeamMembership;
use chrono::DateTime;
use moka::sync::Cache;
use reqwest::StatusCode;
use reqwest::header::AUTHORIZATION;
use reqwest::redirect::Policy;
use serde::Deserialize;
use service_kit::Clock;
use service_kit::crypto::sha256;
use service_kit::http::RequestId;
use tokio::sync::Semaphore;
use url::Url;

use super::{CurrentUser, Refusal};

/// How long the identity service may take, waiting for a turn included.
const PATIENCE: Duration = Duration::from_secs(2);
/// Questions on their way at once. What waits for a turn costs a future, no socket and no thread.
const IN_FLIGHT: usize = 256;
/// Shorter than the five seconds an idle connection is kept by the other side, so that we close first.
const IDLE: Duration = Duration::from_secs(3);
/// Answers remembered at most; each is a few hundred bytes.
const REMEMBERED: u64 = 100_000;

/// Asks the identity service who a token belongs to, over kept connections.
#[derive(Clone)]
pub(crate) struct IdentityClient {
    http: reqwest::Client,
    validate: Url,
    live: Url,
    turns: Arc<Semaphore>,
    remembered: Option<Memory>,
    clock: Clock,
}

/// Good answers, by the SHA-256 of the token, so that no token stands in memory.
#[derive(Clone)]
struct Memory {
    answers: Cache<[u8; 32], Remembered>,
    /// When the identity service last said that something about a user is no longer as it was. What was
    /// asked before is not used, answers that were on their way then included.
    changes: Cache<UserId, Instant>,
    life: Duration,
}

#[derive(Clone)]
struct Remembered {
    user: Arc<CurrentUser>,
    asked: Instant,
}

/// The part of validate's answer that is needed here. The shared `ValidateResponse` is flattened, and
/// serde would buffer the whole body to read it: this runs for every request.
#[derive(Deserialize)]
struct Validated {
    user: Account,
    expires_at: i64,
    scope: Option<String>,
    #[serde(default)]
    teams: Vec<TeamMembership>,
}

#[derive(Deserialize)]
struct Account {
    id: UserId,
    username: String,
    email: Option<String>,
}

impl IdentityClient {
    /// A client of the identity service at `base`; good answers serve for `remember` (zero: never).
    ///
    /// # Errors
    /// When the address cannot be a base, or TLS cannot be set up.
    pub(crate) fn new(
        base: &Url,
        remember: Duration,
        clock: Clock,
    ) -> Result<Self, IdentityClientError> {
        let mut validate = base.join("/api/auth/validate")?;
        validate.set_query(Some("include=teams"));
        Ok(Self {
            http: reqwest::ClientBuilder::new()
                .tls_backend_preconfigured(service_kit::tls::client_config())
                .pool_idle_timeout(IDLE)
                .redirect(Policy::none())
                .no_proxy()
                .build()?,
            validate,
            live: base.join("/health/live")?,
            turns: Arc::new(Semaphore::new(IN_FLIGHT)),
            remembered: (!remember.is_zero()).then(|| Memory::new(remember)),
            clock,
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
        // The answer is as old as its question: what was revoked in between must not be carried longer.
        let asked = Instant::now();
        let user = self.ask(token, request_id).await?;
        memory.answers.insert(
            key,
            Remembered {
                user: Arc::clone(&user),
                asked,
            },
        );
        Ok(user)
    }

    /// Uses no answer about this user that was asked for until now. In this process alone: in others what
    /// they remember ends by its age.
    pub(crate) fn forget(&self, user: UserId) {
        if let Some(memory) = &self.remembered {
            memory.changes.insert(user, Instant::now());
        }
    }

    /// Whether the identity service answers at all.
    pub(crate) async fn is_live(&self) -> bool {
        let answer = tokio::time::timeout(PATIENCE, self.http.get(self.live.clone()).send()).await;
        matches!(answer, Ok(Ok(response)) if response.status().is_success())
    }

    async fn ask(&self, token: &str, request_id: &RequestId) -> Result<Arc<CurrentUser>, Refusal> {
        let answer = tokio::time::timeout(PATIENCE, async {
            let _turn = self
                .turns
                .acquire()
                .await
                .map_err(|closed| closed.to_string())?;
            // A kept connection may have been closed under us; asking again is harmless.
            match self.fetch(token, request_id).await {
                Err(cause) if cause.is_request() || cause.is_connect() => {
                    self.fetch(token, request_id).await
                }
                answer => answer,
            }
            .map_err(|cause| cause.to_string())
        });
        let cause = match answer.await {
            Err(_) => "no answer in time".to_owned(),
            Ok(Err(cause)) => cause,
            Ok(Ok((StatusCode::UNAUTHORIZED, _))) => return Err(Refusal::BadToken),
            Ok(Ok((StatusCode::OK, body))) => match read(&body) {
                Ok(user) => return Ok(Arc::new(user)),
                Err(cause) => cause,
            },
            Ok(Ok((status, _))) => format!("answered {status}"),
        };
        log::warn!(request_id:% = request_id; "identity service: {cause}");
        Err(Refusal::Unavailable)
    }

    async fn fetch(
        &self,
        token: &str,
        request_id: &RequestId,
    ) -> reqwest::Result<(StatusCode, Vec<u8>)> {
        let request = self.http.get(self.validate.clone());
        let request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        let response = request
            .header("x-request-id", request_id.to_string())
            .send()
            .await?;
        let status = response.status();
        Ok((status, response.bytes().await?.to_vec()))
    }
}

impl std::fmt::Debug for IdentityClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdentityClient")
            .field("validate", &self.validate.as_str())
            .finish_non_exhaustive()
    }
}

impl Memory {
    fn new(life: Duration) -> Self {
        Self {
            answers: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(life)
                .build(),
            // Whatever was asked before is too old by then.
            changes: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(life * 2)
                .build(),
            life,
        }
    }

    fn find(&self, key: &[u8; 32], clock: &Clock) -> Option<Arc<CurrentUser>> {
        let remembered = self.answers.get(key)?;
        let fresh = remembered.asked.elapsed() < self.life
            && clock.now() < remembered.user.token_expires_at
            && self
                .changes
                .get(&remembered.user.id)
                .is_none_or(|changed| changed < remembered.asked);
        fresh.then_some(remembered.user)
    }
}

/// Why no client of the identity service can be made.
#[derive(Debug, thiserror::Error)]
pub enum IdentityClientError {
    /// The configured address is no base for others.
    #[error("identity_url: {0}")]
    Address(#[from] url::ParseError),
    /// TLS or the like.
    #[error("HTTP client: {0}")]
    Http(#[from] reqwest::Error),
}

fn read(body: &[u8]) -> Result<CurrentUser, String> {
    let answer: Validated =
        serde_json::from_slice(body).map_err(|cause| format!("unreadable answer: {cause}"))?;
    let token_expires_at = DateTime::from_timestamp(answer.expires_at, 0)
        .ok_or_else(|| "expires_at is no time".to_owned())?;
    Ok(CurrentUser {
        id: answer.user.id,
        username: answer.user.username,
        email: answer.user.email,
        teams: answer.teams,
        token_expires_at,
        scope: answer.scope,
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn an_answer_that_was_on_its_way_when_something_changed_is_not_used() {
        let (clock, _) = Clock::manual(DateTime::UNIX_EPOCH);
        let memory = Memory::new(Duration::from_secs(1));
        let id = UserId::new(7).expect("positive");
        let answer = |asked| Remembered {
            user: Arc::new(CurrentUser {
                id,
                username: String::new(),
                email: None,
                teams: Vec::new(),
                token_expires_at: DateTime::UNIX_EPOCH + TimeDelta::hours(1),
                scope: None,
            }),
            asked,
        };
        let before = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        memory.changes.insert(id, Instant::now());
        memory.answers.insert([1; 32], answer(before));
        assert!(memory.find(&[1; 32], &clock).is_none());
        std::thread::sleep(Duration::from_millis(1));
        memory.answers.insert([1; 32], answer(Instant::now()));
        assert!(memory.find(&[1; 32], &clock).is_some());
    }
}
