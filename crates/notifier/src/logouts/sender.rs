use std::time::Duration;

use chrono::{DateTime, Utc};
use event_types::{LogoutCall, LogoutRequested, LogoutToken};
use secrecy::ExposeSecret;
use service_kit::Clock;
use service_kit::guard::{GuardError, GuardedClient, GuardedResponse};
use service_kit::seal::Sealer;

use crate::delivery::{Attempt, AttemptOutcome, DeliveryRow, requested_wait};
use crate::forbidden_address::forbidden_reason;

/// Decrypts a logout call and posts its token. Tokens are in plain text only here.
#[derive(Debug, Clone)]
pub(crate) struct LogoutSender {
    guard: GuardedClient,
    sealer: Sealer,
    clock: Clock,
}

impl LogoutSender {
    pub(crate) fn new(guard: GuardedClient, sealer: Sealer, clock: Clock) -> Self {
        Self {
            guard,
            sealer,
            clock,
        }
    }

    /// Makes a call (Back-Channel Logout section 2.5). Answers within about ten seconds.
    pub(super) async fn send(&self, attempt: &Attempt) -> AttemptOutcome {
        let Some(row) = attempt.deliveries.first() else {
            return AttemptOutcome::NotAttempted(None);
        };
        let call = match self.open(row) {
            Ok(call) => call,
            Err(reason) => {
                log::error!("the logout {} cannot be used: {reason}", row.id);
                return AttemptOutcome::NeedsOperator("The call could not be read".to_owned());
            }
        };
        let now = self.clock.now();
        // The newest one: an earlier attempt may have used up the others.
        let mut newest_first = call.tokens.iter().rev();
        let Some(token) = newest_first.find(|token| token.is_valid(now)) else {
            return at_next_token(
                &call,
                now,
                Duration::ZERO,
                "No token is valid at this time".to_owned(),
            );
        };
        let result = self.post(&call.uri, token).await;
        if let Some(reason) = result.as_ref().err().copied().and_then(forbidden_reason) {
            log::warn!("the client {} is not called: {reason}", row.kind);
        }
        classify(result, &call, now)
    }

    async fn post(&self, uri: &str, token: &LogoutToken) -> Result<GuardedResponse, GuardError> {
        let uri = self.guard.check_url(uri)?;
        // A JWT has no characters that a form encodes.
        let body = format!("logout_token={}", token.jwt);
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.guard.post(&uri, body, &headers).await
    }

    fn open(&self, row: &DeliveryRow) -> Result<LogoutCall, String> {
        let context = LogoutRequested::seal_context(&row.kind);
        let sealed = row.payload.as_deref().unwrap_or_default();
        let opened = self.sealer.open(&context, sealed);
        let opened = opened.map_err(|error| error.to_string())?;
        // An error message of serde would quote a token.
        serde_json::from_slice(opened.expose_secret()).map_err(|_| "it is not a call".to_owned())
    }
}

fn classify(
    result: Result<GuardedResponse, GuardError>,
    call: &LogoutCall,
    now: DateTime<Utc>,
) -> AttemptOutcome {
    match result {
        Err(error @ GuardError::InvalidUrl) => {
            AttemptOutcome::Refused(format!("The address cannot be called: {error}"))
        }
        Err(error) => {
            let reason = match forbidden_reason(error) {
                Some(reason) => format!("The address is not called: {reason}"),
                None => format!("The client did not respond: {error}"),
            };
            at_next_token(call, now, Duration::ZERO, reason)
        }
        Ok(response) => match response.status {
            200..=299 => AttemptOutcome::Delivered,
            // Section 2.8: the client has read the token and refuses it.
            400 => AttemptOutcome::Refused("The client refused the logout token (400)".to_owned()),
            status => {
                let wait = requested_wait(response.retry_after).unwrap_or_default();
                at_next_token(call, now, wait, format!("The client answered {status}"))
            }
        },
    }
}

/// Returns a retry when the next token becomes valid, at the earliest after `retry_after`; a failure after the last one.
fn at_next_token(
    call: &LogoutCall,
    now: DateTime<Utc>,
    retry_after: Duration,
    reason: String,
) -> AttemptOutcome {
    let waits = call.tokens.iter().filter_map(|token| {
        let wait = (token.valid_from - now).to_std().ok()?;
        (wait > Duration::ZERO && wait >= retry_after).then_some(wait)
    });
    match waits.min() {
        Some(wait) => AttemptOutcome::Retry {
            reason,
            wait: Some(wait),
            // A client that has accepted the logout has nothing left to end.
            maybe_accepted: false,
        },
        None => AttemptOutcome::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn call() -> LogoutCall {
        let token = |seconds| LogoutToken {
            valid_from: DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds),
            jwt: String::new(),
        };
        LogoutCall {
            uri: "https://app.example.com/logout".to_owned(),
            tokens: [0, 10, 600].map(token).into(),
        }
    }

    /// Returns the wait in seconds before the next attempt, or `None` after the last one.
    fn wait_after(status: u16, retry_after: Option<u64>, seconds: i64) -> Option<u64> {
        let response = GuardedResponse {
            status,
            retry_after: retry_after.map(Duration::from_secs),
            body: Vec::new(),
            complete: true,
        };
        let now = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        match classify(Ok(response), &call(), now) {
            AttemptOutcome::Retry { wait, .. } => wait.map(|wait| wait.as_secs()),
            _ => None,
        }
    }

    #[test]
    fn a_failed_call_is_repeated_when_the_next_token_becomes_valid() {
        for status in [301, 401, 404, 408, 410, 429, 500, 503] {
            assert_eq!(wait_after(status, None, 0), Some(10), "{status}");
            assert_eq!(wait_after(status, None, 12), Some(588), "{status}");
            assert_eq!(wait_after(status, None, 600), None, "{status}");
        }
        assert_eq!(wait_after(503, Some(11), 0), Some(600));
        assert_eq!(wait_after(503, Some(601), 0), None);
    }

    #[test]
    fn a_client_decides_with_its_status() {
        let outcome = |status| {
            let response = GuardedResponse {
                status,
                retry_after: None,
                body: Vec::new(),
                complete: true,
            };
            classify(Ok(response), &call(), DateTime::UNIX_EPOCH)
        };
        for status in [200, 202, 204] {
            assert_eq!(outcome(status), AttemptOutcome::Delivered);
        }
        assert!(matches!(outcome(400), AttemptOutcome::Refused(_)));
        for error in [
            GuardError::ForbiddenAddress,
            GuardError::SchemeNotAllowed,
            GuardError::Timeout,
            GuardError::Connect,
            GuardError::Broken,
        ] {
            let outcome = classify(Err(error), &call(), DateTime::UNIX_EPOCH);
            assert!(matches!(outcome, AttemptOutcome::Retry { .. }), "{error}");
        }
        let outcome = classify(Err(GuardError::InvalidUrl), &call(), DateTime::UNIX_EPOCH);
        assert!(matches!(outcome, AttemptOutcome::Refused(_)));
    }
}
