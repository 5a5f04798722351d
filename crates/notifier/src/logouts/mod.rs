//! Logout calls (OpenID Connect Back-Channel Logout).
//!
//! The identity service requests one for each session of an OAuth client that ends, with a signed token for each attempt.
//! `consumer` stores it as a delivery, still sealed. `sender` posts the token that is valid at that moment.

mod consumer;
mod sender;

use std::time::Duration;

pub(crate) use consumer::consume;
pub(crate) use sender::LogoutSender;

use crate::delivery::{Attempt, AttemptReport, Medium, Policy, Reasons, ShutdownSignal};

/// The reason of a logout that expired before its first attempt.
const NOT_ATTEMPTED: &str = "The client could not be called in time";

const POLICY: Policy = Policy {
    // A call takes at most ten seconds.
    lease: Duration::from_secs(30),
    interval: Duration::ZERO,
    // The sender waits for the next token.
    retry_wait: |_| Some(Duration::ZERO),
    disable_after: None,
    locked_for: None,
    keeps_payload: false,
    digest: 1,
    reasons: Reasons {
        unknown: NOT_ATTEMPTED,
        retry_after: NOT_ATTEMPTED,
        disabled: NOT_ATTEMPTED,
        removed: None,
    },
};

/// The medium of logout calls. Each is a destination of its own.
#[derive(Clone)]
pub(crate) struct LogoutMedium {
    pub(crate) sender: LogoutSender,
}

impl Medium for LogoutMedium {
    const NAME: &'static str = "logout";
    const DELIVERIES: &'static str = "logout calls";
    const ONE_EACH: bool = true;

    type Connection = ();

    fn policy(&self) -> &Policy {
        &POLICY
    }

    async fn send(&self, (): &mut (), attempt: &Attempt, _: &ShutdownSignal) -> AttemptReport {
        self.sender.send(attempt).await.into()
    }
}
