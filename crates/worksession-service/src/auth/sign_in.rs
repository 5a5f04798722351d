use std::net::IpAddr;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use service_kit::http::{InternalSecret, RequestId};

use super::AuthFailure;
use super::circuit_breaker::CallOutcome;
use super::identity_client::IdentityClient;

/// How long a sign-in waits before the liveness of the identity service is checked.
const CHECK_LIVENESS_AFTER: Duration = Duration::from_secs(1);
/// The time limit of the liveness check.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(1);
/// The time limit of a sign-in once the identity service is known to be live. It delays sign-ins for up to 15 seconds
/// when there are many.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(20);

/// Where a sign-in comes from. The identity service limits sign-ins by address, and lists them with address and user agent.
#[derive(Debug)]
pub(crate) struct SignInOrigin {
    pub(crate) address: IpAddr,
    /// The header's value, unchanged.
    pub(crate) user_agent: Option<Vec<u8>>,
    pub(crate) request_id: RequestId,
}

/// The response of the identity service to a sign-in. It has no `Debug`, because the body can contain tokens.
pub(crate) struct SignInResponse {
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
    ) -> Result<SignInResponse, AuthFailure> {
        let request_id = &origin.request_id;
        let Ok(_permit) = self.sign_in_permits.try_acquire() else {
            log::warn!(request_id:% = request_id; "identity service: too many sign-ins wait");
            return Err(AuthFailure::Unavailable);
        };
        let permit = self.breaker.admit(Instant::now());
        let permit = permit.ok_or(AuthFailure::Unavailable)?;
        let response = tokio::select! {
            response = self.post(body, origin) => response.map_err(|cause| (CallOutcome::Failed, cause.to_string())),
            timed_out = self.wait_for_timeout() => Err(timed_out),
        };
        let outcome = match &response {
            // A 5xx can mean a full sign-in queue, which does not prevent validations.
            Ok(response) if response.status.is_server_error() => CallOutcome::Unknown,
            Ok(_) => CallOutcome::Success,
            Err((outcome, _)) => *outcome,
        };
        self.breaker.record_outcome(permit, outcome, Instant::now());
        response.map_err(|(_, cause)| {
            log::warn!(request_id:% = request_id; "identity service: sign-in: {cause}");
            AuthFailure::Unavailable
        })
    }

    /// Returns when further waiting is useless, with what that says about the identity service.
    async fn wait_for_timeout(&self) -> (CallOutcome, String) {
        tokio::time::sleep(CHECK_LIVENESS_AFTER).await;
        if self.ping(LIVENESS_TIMEOUT).await.is_none() {
            let cause = "no response to a health check";
            return (CallOutcome::Failed, cause.to_owned());
        }
        tokio::time::sleep(SIGN_IN_TIMEOUT).await;
        (CallOutcome::Unknown, "no answer in time".to_owned())
    }

    async fn post(&self, body: Vec<u8>, origin: &SignInOrigin) -> reqwest::Result<SignInResponse> {
        let mut request = self
            .http
            .post(self.login_url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("x-forwarded-for", origin.address.to_string())
            .header("x-request-id", origin.request_id.as_str());
        if let Some(secret) = &self.internal_secret {
            request = request.header(InternalSecret::HEADER, secret.expose());
        }
        if let Some(user_agent) = &origin.user_agent {
            request = request.header(USER_AGENT, user_agent.as_slice());
        }
        let response = request.body(body).send().await?;
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(SignInResponse {
            status: response.status(),
            retry_after,
            body: response.bytes().await?.to_vec(),
        })
    }
}
