use event_types::{ChatDestination, IntegrationConfigured};
use secrecy::ExposeSecret;
use service_kit::guard::{GuardError, GuardedClient, GuardedResponse};
use service_kit::seal::Sealer;

use super::model::Kind;
use super::pacing::AddressPacer;
use crate::delivery::{Attempt, AttemptOutcome, DeliveryRow, requested_wait};
use crate::forbidden_address::forbidden_reason;
use crate::providers::{self, ChatAdapter, ChatRequest, Notification, PostOutcome};

/// Decrypts the address of a chat and posts to it. The address is in plain text only here.
#[derive(Debug, Clone)]
pub(crate) struct ChatSender {
    guard: GuardedClient,
    sealer: Sealer,
    pacer: AddressPacer,
}

impl ChatSender {
    pub(crate) fn new(guard: GuardedClient, sealer: Sealer, pacer: AddressPacer) -> Self {
        Self {
            guard,
            sealer,
            pacer,
        }
    }

    /// Posts a message. Answers within about ten seconds.
    pub(super) async fn send(&self, attempt: &Attempt) -> AttemptOutcome {
        let destination = match self.open(attempt) {
            Ok(destination) => destination,
            Err(reason) => {
                log::error!(
                    "the chat address of project {} cannot be used: {reason}",
                    attempt.numeric_id()
                );
                return not_now(reason);
            }
        };
        let decode = attempt.deliveries.iter().map(decode);
        let Ok(notifications) = decode.collect::<Result<Vec<Notification>, _>>() else {
            return AttemptOutcome::Refused("The event can no longer be read".to_owned());
        };
        let channel = notifications.last().map_or("", Notification::channel);
        let call = providers::call(&destination, channel, &attempt.message_id, &notifications);
        let Some(call) = call else {
            return not_now("the chat is not reached by such an address".to_owned());
        };
        if let Err(free_at) = self.pacer.take_slot(&destination, attempt.numeric_id()) {
            return AttemptOutcome::AddressBusy(free_at);
        }
        let result = self.post(&call).await;
        if let Some(reason) = result.as_ref().err().copied().and_then(forbidden_reason) {
            log::warn!(
                "the chat of project {} is not called: {reason}",
                attempt.numeric_id()
            );
        }
        let outcome = classify(providers::chat(destination.provider), result);
        if let AttemptOutcome::Retry {
            wait: Some(wait), ..
        } = &outcome
        {
            self.pacer.block(&destination, *wait);
        }
        outcome
    }

    async fn post(&self, call: &ChatRequest) -> Result<GuardedResponse, GuardError> {
        let url = self.guard.check_url(&call.url)?;
        let (method, bearer) = (call.method.clone(), call.bearer.as_ref());
        self.guard.send_json(method, &url, &call.body, bearer).await
    }

    fn open(&self, attempt: &Attempt) -> Result<ChatDestination, String> {
        let context = IntegrationConfigured::seal_context(attempt.numeric_id(), attempt.revision);
        let opened = self
            .sealer
            .open(&context, attempt.sealed.as_deref().unwrap_or_default())
            .map_err(|error| error.to_string())?;
        // An error message of serde would quote the secret. A later version may know the chat.
        serde_json::from_slice(opened.expose_secret())
            .map_err(|_| "this version of the notifier does not know the chat".to_owned())
    }
}

/// Decodes the notification of a row.
fn decode(row: &DeliveryRow) -> serde_json::Result<Notification> {
    let payload = row.payload.as_deref().unwrap_or_default();
    match Kind::from_name(&row.kind) {
        Kind::Plan => serde_json::from_str(payload).map(Notification::Planned),
        Kind::Finished => serde_json::from_str(payload).map(Notification::Finished),
        Kind::Abandoned => serde_json::from_str(payload).map(Notification::Abandoned),
        Kind::Test => serde_json::from_str(payload).map(Notification::Test),
    }
}

/// The outcome for problems that the operator can fix: a missing key, a setting, an older version.
fn not_now(reason: String) -> AttemptOutcome {
    AttemptOutcome::Retry {
        reason,
        wait: None,
        maybe_accepted: false,
    }
}

fn classify(chat: &dyn ChatAdapter, sent: Result<GuardedResponse, GuardError>) -> AttemptOutcome {
    let response = match sent {
        Ok(response) => response,
        Err(error @ GuardError::InvalidUrl) => {
            return AttemptOutcome::Gone(format!("The chat address cannot be called: {error}"));
        }
        Err(error) => {
            if let Some(reason) = forbidden_reason(error) {
                return not_now(format!("The chat address is not called: {reason}"));
            }
            let unsure = matches!(error, GuardError::Timeout | GuardError::Broken);
            let maybe_accepted = unsure && !chat.is_idempotent();
            return AttemptOutcome::Retry {
                reason: format!("The chat did not respond: {error}"),
                wait: None,
                maybe_accepted,
            };
        }
    };
    let (outcome, hint) = chat.classify(&response);
    let reason = format!("The chat answered {}{hint}", response.status);
    match outcome {
        PostOutcome::Accepted => AttemptOutcome::Delivered,
        PostOutcome::Gone => AttemptOutcome::Gone(reason),
        PostOutcome::Retry => AttemptOutcome::Retry {
            reason,
            wait: requested_wait(chat.retry_after(&response)),
            maybe_accepted: false,
        },
        PostOutcome::Refused => AttemptOutcome::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use event_types::ChatProvider::{Matrix, Slack};

    use super::*;
    use crate::providers::chat;

    fn outcome_of(status: u16) -> AttemptOutcome {
        let response = GuardedResponse {
            status,
            retry_after: Some(Duration::from_secs(7)),
            body: Vec::new(),
            complete: true,
        };
        classify(chat(Slack), Ok(response))
    }

    #[test]
    fn each_response_of_a_chat_leads_to_its_outcome() {
        assert_eq!(outcome_of(204), AttemptOutcome::Delivered);
        assert!(matches!(outcome_of(404), AttemptOutcome::Gone(_)));
        assert!(matches!(outcome_of(400), AttemptOutcome::Refused(_)));
        let wait = Some(Duration::from_secs(7));
        assert!(
            matches!(outcome_of(429), AttemptOutcome::Retry { wait: named, maybe_accepted: false, .. } if named == wait)
        );
        for (error, maybe_accepted) in [
            (GuardError::Timeout, true),
            (GuardError::Broken, true),
            (GuardError::Connect, false),
        ] {
            assert!(
                matches!(classify(chat(Slack), Err(error)), AttemptOutcome::Retry { maybe_accepted: maybe, .. } if maybe == maybe_accepted)
            );
            // A Matrix room shows a repeated message once.
            assert!(matches!(
                classify(chat(Matrix), Err(error)),
                AttemptOutcome::Retry {
                    maybe_accepted: false,
                    ..
                }
            ));
        }
        assert!(matches!(
            classify(chat(Slack), Err(GuardError::InvalidUrl)),
            AttemptOutcome::Gone(_)
        ));
        for (error, setting) in [
            (
                GuardError::ForbiddenAddress,
                "NOTIFIER__HTTP__ALLOWED_CIDRS",
            ),
            (GuardError::SchemeNotAllowed, "NOTIFIER__HTTP__ALLOW_PLAIN"),
        ] {
            let outcome = classify(chat(Slack), Err(error));
            assert!(
                matches!(&outcome, AttemptOutcome::Retry { reason, maybe_accepted: false, .. } if reason.contains(setting)),
                "{outcome:?}"
            );
        }
    }
}
