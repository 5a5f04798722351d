use std::time::Duration;

use event_types::{WebhookConfigured, WebhookTarget};
use secrecy::ExposeSecret;
use service_kit::Clock;
use service_kit::guard::{GuardError, GuardedClient, GuardedResponse};
use service_kit::seal::Sealer;
use tokio::time::Instant;

use super::signature::sign;
use crate::delivery::{Attempt, AttemptOutcome, AttemptReport, HttpReply, requested_wait};
use crate::forbidden_address::forbidden_reason;

/// Decrypts a webhook's target, signs the call and posts it. URL and secrets are in plain text only here.
#[derive(Debug, Clone)]
pub(crate) struct WebhookSender {
    guard: GuardedClient,
    sealer: Sealer,
    clock: Clock,
}

impl WebhookSender {
    pub(crate) fn new(guard: GuardedClient, sealer: Sealer, clock: Clock) -> Self {
        Self {
            guard,
            sealer,
            clock,
        }
    }

    /// Makes a call. Answers within about ten seconds.
    pub(super) async fn send(&self, attempt: &Attempt) -> AttemptReport {
        let target = match self.open(attempt) {
            Ok(target) => target,
            Err(reason) => return blocked(attempt, &reason),
        };
        let call = attempt.deliveries.first();
        let body = call
            .and_then(|call| call.payload.as_deref())
            .unwrap_or_default();
        let id = attempt.message_id.as_str();
        let now = self.clock.now();
        let Some(signature) = sign(&target.secrets, id, now, body) else {
            return blocked(attempt, "there is no secret to sign with");
        };
        let timestamp = now.timestamp().to_string();
        let headers = [
            ("content-type", "application/json"),
            ("webhook-id", id),
            ("webhook-timestamp", &timestamp),
            ("webhook-signature", &signature),
        ];
        let began = Instant::now();
        let result = match self.guard.check_url(&target.url) {
            Ok(url) => self.guard.post(&url, body.to_owned(), &headers).await,
            Err(error) => Err(error),
        };
        if let Some(reason) = result.as_ref().err().copied().and_then(forbidden_reason) {
            log::warn!(
                "the webhook {} is not called: {reason}",
                attempt.numeric_id()
            );
        }
        classify(result, began.elapsed())
    }

    fn open(&self, attempt: &Attempt) -> Result<WebhookTarget, String> {
        let context = WebhookConfigured::seal_context(attempt.numeric_id(), attempt.revision);
        let opened = self
            .sealer
            .open(&context, attempt.sealed.as_deref().unwrap_or_default())
            .map_err(|error| error.to_string())?;
        // An error message of serde would quote the secret.
        serde_json::from_slice(opened.expose_secret()).map_err(|_| "it is not a target".to_owned())
    }
}

/// The outcome for problems that the operator can fix: a missing key or an older version.
fn blocked(attempt: &Attempt, reason: &str) -> AttemptReport {
    let webhook = attempt.numeric_id();
    log::error!("the target of the webhook {webhook} cannot be used: {reason}");
    AttemptOutcome::NeedsOperator("The webhook's settings could not be read".to_owned()).into()
}

fn classify(result: Result<GuardedResponse, GuardError>, took: Duration) -> AttemptReport {
    let status = result.as_ref().ok().map(|response| response.status);
    let reply = Some(HttpReply { status, took });
    let outcome = match result {
        Err(error @ GuardError::InvalidUrl) => {
            AttemptOutcome::Gone(format!("The address cannot be called: {error}"))
        }
        Err(error) => AttemptOutcome::Retry {
            reason: match forbidden_reason(error) {
                Some(reason) => format!("The address is not called: {reason}"),
                None => format!("The receiver did not respond: {error}"),
            },
            wait: None,
            maybe_accepted: matches!(error, GuardError::Timeout | GuardError::Broken),
        },
        Ok(response) => {
            let reason = format!("The receiver answered {}", response.status);
            match response.status {
                200..=299 => AttemptOutcome::Delivered,
                410 => AttemptOutcome::Gone(reason),
                _ => AttemptOutcome::Retry {
                    reason,
                    wait: requested_wait(response.retry_after),
                    maybe_accepted: false,
                },
            }
        }
    };
    AttemptReport { outcome, reply }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(3);

    fn outcome_of(status: u16) -> AttemptReport {
        let response = GuardedResponse {
            status,
            retry_after: Some(Duration::from_secs(7_200)),
            body: Vec::new(),
            complete: true,
        };
        classify(Ok(response), TOOK)
    }

    #[test]
    fn each_response_of_a_receiver_leads_to_its_outcome() {
        for status in [200, 202, 204] {
            let reply = Some(HttpReply {
                status: Some(status),
                took: TOOK,
            });
            let outcome = AttemptOutcome::Delivered;
            assert_eq!(outcome_of(status), AttemptReport { outcome, reply });
        }
        assert!(matches!(outcome_of(410).outcome, AttemptOutcome::Gone(_)));
        for status in [301, 400, 401, 404, 429, 500, 503] {
            let outcome = outcome_of(status).outcome;
            assert!(
                matches!(
                    outcome,
                    AttemptOutcome::Retry {
                        wait: Some(wait),
                        maybe_accepted: false,
                        ..
                    } if wait == Duration::from_secs(3_600)
                ),
                "{status}"
            );
        }
        for (error, maybe) in [
            (GuardError::Timeout, true),
            (GuardError::Broken, true),
            (GuardError::Connect, false),
        ] {
            let outcome = classify(Err(error), TOOK).outcome;
            assert!(
                matches!(outcome, AttemptOutcome::Retry { maybe_accepted, .. } if maybe_accepted == maybe),
                "{error}"
            );
        }
        let outcome = classify(Err(GuardError::InvalidUrl), TOOK).outcome;
        assert!(matches!(outcome, AttemptOutcome::Gone(_)));
        for (error, setting) in [
            (
                GuardError::ForbiddenAddress,
                "NOTIFIER__HTTP__ALLOWED_CIDRS",
            ),
            (GuardError::SchemeNotAllowed, "NOTIFIER__HTTP__ALLOW_PLAIN"),
        ] {
            let outcome = classify(Err(error), TOOK).outcome;
            assert!(
                matches!(&outcome, AttemptOutcome::Retry { reason, maybe_accepted: false, .. } if reason.contains(setting)),
                "{outcome:?}"
            );
        }
    }
}
