//! Webhook calls.
//!
//! The work-session service decides which webhook gets which event. `consumer` stores each call as a delivery, `sender`
//! signs it (`signature`) and posts it. Each attempt is reported as an event.

mod consumer;
mod queries;
mod sender;
mod signature;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;
use event_types::{WebhookAttempted, WebhookDisabled, WebhookOutcome};

pub(crate) use consumer::consume;
pub(crate) use sender::WebhookSender;

use crate::SOURCE;
use crate::delivery::{
    Attempt, AttemptReport, DeliveryOutcome, DeliveryReport, DeliveryRow, DestinationRow,
    FinalState, Medium, Policy, Reasons, ShutdownSignal, call_wait, numeric_id,
};

const POLICY: Policy = Policy {
    // A call takes at most ten seconds.
    lease: Duration::from_secs(30),
    interval: Duration::ZERO,
    retry_wait: call_wait,
    disable_after: Some(TimeDelta::days(5)),
    locked_for: None,
    keeps_payload: true,
    digest: 1,
    reasons: Reasons {
        unknown: "The webhook's settings did not arrive",
        retry_after: "The receiver asked us to wait longer than we keep trying",
        disabled: "The webhook is disabled",
        removed: None,
    },
};

/// The medium of webhook calls. A destination is a webhook.
#[derive(Clone)]
pub(crate) struct WebhookMedium {
    pub(crate) sender: WebhookSender,
}

impl Medium for WebhookMedium {
    const NAME: &'static str = "webhook";
    const DELIVERIES: &'static str = "webhook calls";

    type Connection = ();

    fn policy(&self) -> &Policy {
        &POLICY
    }

    async fn send(&self, (): &mut (), attempt: &Attempt, _: &ShutdownSignal) -> AttemptReport {
        self.sender.send(attempt).await
    }

    fn report(
        &self,
        rows: &[DeliveryRow],
        report: &DeliveryReport<'_>,
    ) -> QueryResult<Vec<NewOutboxRow>> {
        let event = |row: &DeliveryRow| {
            let request_id = row.request_id.clone();
            NewOutboxRow::for_event(SOURCE, report.at, request_id, &attempted(row, report))
        };
        rows.iter().map(event).collect()
    }

    fn report_disabled(
        &self,
        destination: &DestinationRow,
        reason: &str,
        at: DateTime<Utc>,
    ) -> QueryResult<Option<NewOutboxRow>> {
        let event = WebhookDisabled {
            webhook_id: numeric_id(&destination.id),
            revision: destination.revision,
            reason: reason.to_owned(),
        };
        NewOutboxRow::for_event(SOURCE, at, None, &event).map(Some)
    }
}

fn attempted(row: &DeliveryRow, report: &DeliveryReport<'_>) -> WebhookAttempted {
    let (outcome, next_attempt_at) = match report.outcome {
        DeliveryOutcome::Ended(FinalState::Delivered) => (WebhookOutcome::Delivered, None),
        DeliveryOutcome::Ended(FinalState::Failed) => (WebhookOutcome::Failed, None),
        DeliveryOutcome::Ended(FinalState::Skipped) => (WebhookOutcome::Skipped, None),
        DeliveryOutcome::Retried(at) => (WebhookOutcome::Pending, Some(at.and_utc())),
    };
    let took = report.reply.map(|reply| reply.took.as_millis());
    WebhookAttempted {
        webhook_id: numeric_id(&row.destination_id),
        delivery_id: row.id.parse().unwrap_or_default(),
        step: row.step,
        outcome,
        attempts: row.attempts,
        status_code: report.reply.and_then(|reply| reply.status),
        duration_ms: took.map(|took| i64::try_from(took).unwrap_or(i64::MAX)),
        reason: report.reason.map(str::to_owned),
        next_attempt_at,
        at: report.at,
    }
}
