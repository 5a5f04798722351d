use std::net::IpAddr;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use service_kit::http::{InternalSecret, RequestId};

use super::AuthFailure;
use super::breaker::Verdict;
use super::identity::IdentityClient;

/// How long a sign-in waits before the liveness of the identity service is checked.
const DOUBT_AFTER: Duration = Duration::from_secs(1);
/// The time limit of the liveness check.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);
/// The time limit of a sign-in once the identity service is known to be live. It delays sign-ins for up to 15 seconds
/// when there are many.
const BUSY: Duration = Duration::from_secs(20);

/// Where a sign-in comes from. The identity service limits sign-ins by address, and lists them with address and user agent.
#[derive(Debug)]
pub(crate) struct SignInOrigin {
    pub(crate) address: IpAddr,
    /// The header's value, unchanged.
    pub(crate) user_agent: Option<Vec<u8>>,
    pub(crate) request_id: RequestId,
}

/// The response of the identity service to a sign-in. It has no `Debug`, because the body can contain tokens.
pub(crate) struct SignInAnswer {
    pub(crate) status: StatusCode,
    /// The seconds of the `Retry-After` header.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: Vec<u8>,
}

impl IdentityClient {
    /// Forwards a sign-in once: a second attempt could open a second session, or count as a second failure.
    ///
    /// # Errors
    /// [`AuthFailure::Unavailable`] when there is no response, and when too many sign-ins wait already.
    pub(crate) async fn sign_in(
        &self,
        body: Vec<u8>,
        origin: &SignInOrigin,
    ) -> Result<SignInAnswer, AuthFailure> {
        let request_id = &origin.request_id;
        let Ok(_turn) = self.sign_ins.try_acquire() else {
            log::warn!(request_id:% = request_id; "identity service: too many sign-ins wait");
            return Err(AuthFailure::Unavailable);
        };
        let question = self
            .breaker
            .admit(Instant::now())
            .ok_or(AuthFailure::Unavailable)?;
        let answer = tokio::select! {
            answer = self.post(body, origin) => answer.map_err(|cause| (Verdict::Failed, cause.to_string())),
            given_up = self.lose_patience() => Err(given_up),
        };
        let verdict = match &answer {
            // A 5xx can mean a full sign-in queue, which does not prevent validations.
            Ok(answer) if answer.status.is_server_error() => Verdict::Nothing,
            Ok(_) => Verdict::Success,
            Err((verdict, _)) => *verdict,
        };
        self.breaker.learn(question, verdict, Instant::now());
        answer.map_err(|(_, cause)| {
            log::warn!(request_id:% = request_id; "identity service: sign-in: {cause}");
            AuthFailure::Unavailable
        })
    }

    /// Returns when further waiting is useless, with what that says about the identity service.
    async fn lose_patience(&self) -> (Verdict, String) {
        tokio::time::sleep(DOUBT_AFTER).await;
        if self.ping_identity(SIGN_OF_LIFE).await.is_none() {
            return (Verdict::Failed, "no response to a health check".to_owned());
        }
        tokio::time::sleep(BUSY).await;
        (Verdict::Nothing, "no answer in time".to_owned())
    }

    async fn post(&self, body: Vec<u8>, origin: &SignInOrigin) -> reqwest::Result<SignInAnswer> {
        let mut request = self
            .http
            .post(self.login.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("x-forwarded-for", origin.address.to_string())
            .header("x-request-id", origin.request_id.as_str());
        if let Some(inside) = &self.inside {
            request = request.header(InternalSecret::HEADER, inside.expose());
        }
        if let Some(user_agent) = &origin.user_agent {
            request = request.header(USER_AGENT, user_agent.as_slice());
        }
        let response = request.body(body).send().await?;
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(SignInAnswer {
            status: response.status(),
            retry_after,
            body: response.bytes().await?.to_vec(),
        })
    }
}
