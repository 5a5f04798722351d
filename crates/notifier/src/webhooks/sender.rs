use std::time::Duration;

use event_types::{WebhookConfigured, WebhookTarget};
use secrecy::ExposeSecret;
use service_kit::Clock;
use service_kit::guard::{GuardError, GuardedClient, GuardedResponse};
use service_kit::seal::Sealer;
use tokio::time::Instant;

use super::signature::sign;
use crate::delivery::{Attempt, AttemptOutcome, AttemptReport, HttpReply};
use crate::reach::forbidden;

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
        let answered = match self.guard.check_url(&target.url) {
            Ok(url) => self.guard.post(&url, body.to_owned(), &headers).await,
            Err(error) => Err(error),
        };
        if let Some(why) = answered.as_ref().err().copied().and_then(forbidden) {
            log::warn!("the webhook {} is not called: {why}", attempt.number());
        }
        judge(answered, began.elapsed())
    }

    fn open(&self, attempt: &Attempt) -> Result<WebhookTarget, String> {
        let context = WebhookConfigured::seal_context(attempt.number(), attempt.revision);
        let opened = self
            .sealer
            .open(&context, attempt.sealed.as_deref().unwrap_or_default())
            .map_err(|error| error.to_string())?;
        // An error message of serde would quote the secret.
        serde_json::from_slice(opened.expose_secret()).map_err(|_| "it is not a target".to_owned())
    }
}

/// The answer for problems that the operator can fix: a missing key or an older version.
fn blocked(attempt: &Attempt, reason: &str) -> AttemptReport {
    let webhook = attempt.number();
    log::error!("the target of the webhook {webhook} cannot be used: {reason}");
    AttemptOutcome::NeedsOperator("The webhook's settings could not be read".to_owned()).into()
}

fn judge(answered: Result<GuardedResponse, GuardError>, took: Duration) -> AttemptReport {
    let status = answered.as_ref().ok().map(|answer| answer.status);
    let reply = Some(HttpReply { status, took });
    let answer = match answered {
        Err(error @ GuardError::InvalidUrl) => {
            AttemptOutcome::Gone(format!("The address cannot be called: {error}"))
        }
        Err(error) => AttemptOutcome::Later {
            reason: match forbidden(error) {
                Some(why) => format!("The address is not called: {why}"),
                None => format!("The receiver gave no answer: {error}"),
            },
            wait: None,
            maybe_taken: matches!(error, GuardError::Timeout | GuardError::Broken),
        },
        Ok(answer) => {
            let reason = format!("The receiver answered {}", answer.status);
            match answer.status {
                200..=299 => AttemptOutcome::Delivered,
                410 => AttemptOutcome::Gone(reason),
                _ => AttemptOutcome::Later {
                    reason,
                    wait: answer.retry_after,
                    maybe_taken: false,
                },
            }
        }
    };
    AttemptReport { answer, reply }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(3);

    fn answered(status: u16) -> AttemptReport {
        let answer = GuardedResponse {
            status,
            retry_after: Some(Duration::from_secs(7)),
            body: Vec::new(),
            complete: true,
        };
        judge(Ok(answer), TOOK)
    }

    #[test]
    fn each_response_of_a_receiver_leads_to_its_outcome() {
        for status in [200, 202, 204] {
            let reply = Some(HttpReply {
                status: Some(status),
                took: TOOK,
            });
            let answer = AttemptOutcome::Delivered;
            assert_eq!(answered(status), AttemptReport { answer, reply });
        }
        assert!(matches!(answered(410).answer, AttemptOutcome::Gone(_)));
        for status in [301, 400, 401, 404, 429, 500, 503] {
            let answer = answered(status).answer;
            assert!(
                matches!(
                    answer,
                    AttemptOutcome::Later {
                        wait: Some(_),
                        maybe_taken: false,
                        ..
                    }
                ),
                "{status}"
            );
        }
        for (error, maybe) in [
            (GuardError::Timeout, true),
            (GuardError::Broken, true),
            (GuardError::Connect, false),
        ] {
            let answer = judge(Err(error), TOOK).answer;
            assert!(
                matches!(answer, AttemptOutcome::Later { maybe_taken, .. } if maybe_taken == maybe),
                "{error}"
            );
        }
        let answer = judge(Err(GuardError::InvalidUrl), TOOK).answer;
        assert!(matches!(answer, AttemptOutcome::Gone(_)));
        for (error, setting) in [
            (
                GuardError::ForbiddenAddress,
                "NOTIFIER__HTTP__ALLOWED_CIDRS",
            ),
            (GuardError::SchemeNotAllowed, "NOTIFIER__HTTP__ALLOW_PLAIN"),
        ] {
            let answer = judge(Err(error), TOOK).answer;
            assert!(
                matches!(&answer, AttemptOutcome::Later { reason, maybe_taken: false, .. } if reason.contains(setting)),
                "{answer:?}"
            );
        }
    }
}
