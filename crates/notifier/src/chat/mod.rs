//! Messages about sessions in a team's chat.
//!
//! `consumer` decodes events, and `store` stores them as deliveries. `queries` lets ends wait for their plans.
//! `digest` joins due deliveries into one message, `sender` posts it, and `feedback` reports the outcome. `pacing`
//! delays the messages of projects that share an address, for each process.

mod consumer;
mod digest;
mod feedback;
mod model;
mod pacing;
mod queries;
mod sender;
mod store;

use std::time::Duration;

use chrono::{DateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;
use event_types::IntegrationDisabled;

pub(crate) use consumer::consume;
pub(crate) use pacing::AddressPacer;
pub(crate) use sender::ChatSender;

use crate::SOURCE;
use crate::config::ChatConfig;
use crate::delivery::{
    Attempt, AttemptReport, DeliveryOutcome, DeliveryReport, DeliveryRow, DestinationRow, Medium,
    Policy, Reasons, ShutdownSignal, message_wait, numeric_id,
};

/// The most notifications in one message. Twenty lines of usual length fit into every chat's limit, and longer
/// digests are not read.
const DIGEST_DELIVERIES: i64 = 20;

const NO_CHAT: &str = "The project has no chat";

/// The medium of chat messages. A destination is a project.
#[derive(Clone)]
pub(crate) struct ChatMedium {
    config: ChatConfig,
    policy: Policy,
    sender: ChatSender,
}

impl ChatMedium {
    pub(crate) fn new(config: ChatConfig, sender: ChatSender) -> Self {
        let policy = Policy {
            // A post takes at most ten seconds.
            lease: Duration::from_secs(30),
            interval: config.interval(),
            retry_wait: |tries| Some(message_wait(tries)),
            disable_after: None,
            locked_for: None,
            keeps_payload: false,
            digest: DIGEST_DELIVERIES,
            reasons: Reasons {
                unknown: "The project's chat settings did not arrive",
                retry_after: "The chat asked us to wait longer than we keep trying",
                disabled: "The project's chat is disabled",
                removed: Some(NO_CHAT),
            },
        };
        Self {
            config,
            policy,
            sender,
        }
    }
}

impl Medium for ChatMedium {
    const NAME: &'static str = "chat";
    const DELIVERIES: &'static str = "notifications";

    type Connection = ();

    fn policy(&self) -> &Policy {
        &self.policy
    }

    async fn send(&self, (): &mut (), attempt: &Attempt, _: &ShutdownSignal) -> AttemptReport {
        self.sender.send(attempt).await.into()
    }

    fn compose(&self, ready: Vec<DeliveryRow>) -> Vec<DeliveryRow> {
        digest::compose(ready)
    }

    fn report(
        &self,
        rows: &[DeliveryRow],
        report: &DeliveryReport<'_>,
    ) -> QueryResult<Vec<NewOutboxRow>> {
        let DeliveryOutcome::Ended(ending) = report.outcome else {
            return Ok(Vec::new());
        };
        let reason = report.reason.unwrap_or_default();
        feedback::events(rows, ending, reason, report.at)
    }

    fn report_disabled(
        &self,
        destination: &DestinationRow,
        reason: &str,
        at: DateTime<Utc>,
    ) -> QueryResult<Option<NewOutboxRow>> {
        let event = IntegrationDisabled {
            project_id: numeric_id(&destination.id),
            revision: destination.revision,
            reason: reason.to_owned(),
        };
        NewOutboxRow::for_event(SOURCE, at, None, &event).map(Some)
    }
}
