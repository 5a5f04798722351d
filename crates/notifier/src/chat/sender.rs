use event_types::{ChatDestination, IntegrationConfigured, SessionStarted};
use secrecy::ExposeSecret;
use service_kit::guard::{self, GuardError, GuardedClient};
use service_kit::seal::Sealer;

use super::model::{Answer, Job};
use crate::providers;

/// Opens a hook's address and posts to it. The address is in clear nowhere but here.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    guard: GuardedClient,
    sealer: Sealer,
}

impl Sender {
    pub(crate) fn new(guard: GuardedClient, sealer: Sealer) -> Self {
        Self { guard, sealer }
    }

    /// Posts a job's message; answers within about ten seconds.
    pub(super) async fn send(&self, job: &Job) -> Answer {
        let destination = match self.open(job) {
            Ok(destination) => destination,
            Err(reason) => {
                log::error!(
                    "the chat address of project {} cannot be used: {reason}",
                    job.project_id
                );
                return not_now(reason);
            }
        };
        let payload = job.delivery.payload.as_deref().unwrap_or_default();
        let Ok(started) = serde_json::from_str::<SessionStarted>(payload) else {
            return Answer::Refused("The event cannot be read any more".to_owned());
        };
        let Some(body) = providers::planning_message(&destination.provider, &started) else {
            return not_now("this version of the notifier does not know the chat".to_owned());
        };
        let url = match self.guard.check_url(&destination.webhook_url) {
            Ok(url) => url,
            Err(error) => {
                return Answer::Gone(format!("The chat address cannot be called: {error}"));
            }
        };
        judge(self.guard.post_json(&url, &body, Default::default()).await)
    }

    fn open(&self, job: &Job) -> Result<ChatDestination, String> {
        let context = IntegrationConfigured::seal_context(job.project_id, job.revision);
        let opened = self
            .sealer
            .open(&context, &job.sealed)
            .map_err(|error| error.to_string())?;
        // serde's message would quote what it stumbled over.
        serde_json::from_slice(opened.expose_secret())
            .map_err(|_| "it is not a destination".to_owned())
    }
}

/// For what the operator can mend: a missing key, an older version.
fn not_now(reason: String) -> Answer {
    Answer::Later {
        reason,
        wait: None,
        maybe_taken: false,
    }
}

fn judge(answered: Result<guard::Answer, GuardError>) -> Answer {
    let answer = match answered {
        Ok(answer) => answer,
        Err(
            error @ (GuardError::InvalidUrl
            | GuardError::SchemeNotAllowed
            | GuardError::ForbiddenAddress),
        ) => {
            return Answer::Gone(format!("The chat address cannot be called: {error}"));
        }
        Err(error) => {
            let maybe_taken = matches!(error, GuardError::Timeout | GuardError::Broken);
            return Answer::Later {
                reason: format!("The chat gave no answer: {error}"),
                wait: None,
                maybe_taken,
            };
        }
    };
    let reason = format!("The chat answered {}", answer.status);
    match answer.status {
        200..=299 => Answer::Delivered,
        401 | 403 | 404 | 410 => Answer::Gone(reason),
        408 | 425 | 429 | 500..=599 => Answer::Later {
            reason,
            wait: answer.retry_after,
            maybe_taken: false,
        },
        _ => Answer::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn answered(status: u16) -> Answer {
        judge(Ok(guard::Answer {
            status,
            retry_after: Some(Duration::from_secs(7)),
            body: Vec::new(),
            complete: true,
        }))
    }

    #[test]
    fn each_status_has_its_consequence() {
        assert_eq!(answered(204), Answer::Delivered);
        for status in [401, 403, 404, 410] {
            assert!(matches!(answered(status), Answer::Gone(_)), "{status}");
        }
        for status in [408, 429, 500, 502, 503] {
            assert!(
                matches!(
                    answered(status),
                    Answer::Later {
                        wait: Some(_),
                        maybe_taken: false,
                        ..
                    }
                ),
                "{status}"
            );
        }
        for status in [301, 302, 400, 413, 422] {
            assert!(matches!(answered(status), Answer::Refused(_)), "{status}");
        }
        for (error, maybe_taken) in [
            (GuardError::Timeout, true),
            (GuardError::Broken, true),
            (GuardError::Connect, false),
        ] {
            assert!(
                matches!(judge(Err(error)), Answer::Later { maybe_taken: maybe, .. } if maybe == maybe_taken)
            );
        }
        assert!(matches!(
            judge(Err(GuardError::ForbiddenAddress)),
            Answer::Gone(_)
        ));
    }
}
