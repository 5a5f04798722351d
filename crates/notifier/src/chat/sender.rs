use event_types::{ChatDestination, IntegrationConfigured};
use secrecy::ExposeSecret;
use service_kit::guard::{GuardError, GuardedClient, GuardedResponse};
use service_kit::seal::Sealer;

use super::addresses::AddressPacer;
use super::model::Kind;
use crate::delivery::{Attempt, AttemptOutcome, DeliveryRow};
use crate::providers::{self, ChatAdapter, ChatRequest, Notice, PostOutcome};
use crate::reach::forbidden;

/// Decrypts the address of a chat and posts to it. The address is in plain text only here.
#[derive(Debug, Clone)]
pub(crate) struct ChatSender {
    guard: GuardedClient,
    sealer: Sealer,
    addresses: AddressPacer,
}

impl ChatSender {
    pub(crate) fn new(guard: GuardedClient, sealer: Sealer, addresses: AddressPacer) -> Self {
        Self {
            guard,
            sealer,
            addresses,
        }
    }

    /// Posts a message. Answers within about ten seconds.
    pub(super) async fn send(&self, attempt: &Attempt) -> AttemptOutcome {
        let destination = match self.open(attempt) {
            Ok(destination) => destination,
            Err(reason) => {
                log::error!(
                    "the chat address of project {} cannot be used: {reason}",
                    attempt.number()
                );
                return not_now(reason);
            }
        };
        let read = attempt.deliveries.iter().map(read);
        let Ok(notices) = read.collect::<Result<Vec<Notice>, _>>() else {
            return AttemptOutcome::Refused("The event cannot be read any more".to_owned());
        };
        let channel = notices.last().map(Notice::channel).unwrap_or_default();
        let call = providers::call(&destination, channel, &attempt.message_id, &notices);
        let Some(call) = call else {
            return not_now("the chat is not reached by such an address".to_owned());
        };
        if let Err(turn) = self.addresses.enter(&destination, attempt.number()) {
            return AttemptOutcome::NotItsTurn(turn);
        }
        let answered = self.make(&call).await;
        if let Some(why) = answered.as_ref().err().copied().and_then(forbidden) {
            log::warn!(
                "the chat of project {} is not called: {why}",
                attempt.number()
            );
        }
        let answer = judge(providers::chat(destination.provider), answered);
        if let AttemptOutcome::Later {
            wait: Some(wait), ..
        } = &answer
        {
            self.addresses.close(&destination, *wait);
        }
        answer
    }

    async fn make(&self, call: &ChatRequest) -> Result<GuardedResponse, GuardError> {
        let url = self.guard.check_url(&call.url)?;
        let (method, bearer) = (call.method.clone(), call.bearer.as_ref());
        self.guard.send_json(method, &url, &call.body, bearer).await
    }

    fn open(&self, attempt: &Attempt) -> Result<ChatDestination, String> {
        let context = IntegrationConfigured::seal_context(attempt.number(), attempt.revision);
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
fn read(row: &DeliveryRow) -> serde_json::Result<Notice> {
    let payload = row.payload.as_deref().unwrap_or_default();
    match Kind::of(&row.kind) {
        Kind::Plan => serde_json::from_str(payload).map(Notice::Planned),
        Kind::Finished => serde_json::from_str(payload).map(Notice::Finished),
        Kind::Abandoned => serde_json::from_str(payload).map(Notice::Abandoned),
        Kind::Test => serde_json::from_str(payload).map(Notice::Test),
    }
}

/// The answer for problems that the operator can fix: a missing key, a setting, an older version.
fn not_now(reason: String) -> AttemptOutcome {
    AttemptOutcome::Later {
        reason,
        wait: None,
        maybe_taken: false,
    }
}

fn judge(chat: &dyn ChatAdapter, answered: Result<GuardedResponse, GuardError>) -> AttemptOutcome {
    let answer = match answered {
        Ok(answer) => answer,
        Err(error @ GuardError::InvalidUrl) => {
            return AttemptOutcome::Gone(format!("The chat address cannot be called: {error}"));
        }
        Err(error) => {
            if let Some(why) = forbidden(error) {
                return not_now(format!("The chat address is not called: {why}"));
            }
            let unsure = matches!(error, GuardError::Timeout | GuardError::Broken);
            let maybe_taken = unsure && !chat.is_idempotent();
            return AttemptOutcome::Later {
                reason: format!("The chat gave no answer: {error}"),
                wait: None,
                maybe_taken,
            };
        }
    };
    let (sense, advice) = chat.judge(&answer);
    let reason = format!("The chat answered {}{advice}", answer.status);
    match sense {
        PostOutcome::Taken => AttemptOutcome::Delivered,
        PostOutcome::Gone => AttemptOutcome::Gone(reason),
        PostOutcome::Later => AttemptOutcome::Later {
            reason,
            wait: chat.asked_wait(&answer),
            maybe_taken: false,
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

    fn answered(status: u16) -> AttemptOutcome {
        let answer = GuardedResponse {
            status,
            retry_after: Some(Duration::from_secs(7)),
            body: Vec::new(),
            complete: true,
        };
        judge(chat(Slack), Ok(answer))
    }

    #[test]
    fn each_response_of_a_chat_leads_to_its_outcome() {
        assert_eq!(answered(204), AttemptOutcome::Delivered);
        assert!(matches!(answered(404), AttemptOutcome::Gone(_)));
        assert!(matches!(answered(400), AttemptOutcome::Refused(_)));
        let wait = Some(Duration::from_secs(7));
        assert!(
            matches!(answered(429), AttemptOutcome::Later { wait: asked, maybe_taken: false, .. } if asked == wait)
        );
        for (error, maybe_taken) in [
            (GuardError::Timeout, true),
            (GuardError::Broken, true),
            (GuardError::Connect, false),
        ] {
            assert!(
                matches!(judge(chat(Slack), Err(error)), AttemptOutcome::Later { maybe_taken: maybe, .. } if maybe == maybe_taken)
            );
            // A Matrix room shows a repeated message once.
            assert!(matches!(
                judge(chat(Matrix), Err(error)),
                AttemptOutcome::Later {
                    maybe_taken: false,
                    ..
                }
            ));
        }
        assert!(matches!(
            judge(chat(Slack), Err(GuardError::InvalidUrl)),
            AttemptOutcome::Gone(_)
        ));
        for (error, setting) in [
            (
                GuardError::ForbiddenAddress,
                "NOTIFIER__HTTP__ALLOWED_CIDRS",
            ),
            (GuardError::SchemeNotAllowed, "NOTIFIER__HTTP__ALLOW_PLAIN"),
        ] {
            let answer = judge(chat(Slack), Err(error));
            assert!(
                matches!(&answer, AttemptOutcome::Later { reason, maybe_taken: false, .. } if reason.contains(setting)),
                "{answer:?}"
            );
        }
    }
}
