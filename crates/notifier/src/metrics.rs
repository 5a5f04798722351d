use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};
use service_kit::metrics::Metrics;

use crate::delivery::TransitionCounts;

/// The metrics of one medium's deliveries. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryMetrics {
    outcomes: IntCounterVec,
    retries: IntCounter,
    possible_duplicates: IntCounter,
    /// None for a medium whose destinations are never disabled.
    disabled: Option<IntCounter>,
    pub(crate) waiting: IntGauge,
}

impl DeliveryMetrics {
    pub(crate) fn chats(metrics: &Metrics) -> Result<Self, prometheus::Error> {
        Ok(Self {
            outcomes: outcomes(
                "notifications_total",
                "Settled notifications, by outcome",
                &["delivered", "failed", "skipped"],
                metrics,
            )?,
            retries: metrics.register(IntCounter::new(
                "notification_retries_total",
                "Attempts to send notifications that will be retried",
            )?)?,
            possible_duplicates: metrics.register(IntCounter::new(
                "notification_possible_duplicates_total",
                "Notifications that may be sent twice, because the chat did not answer in time or the sender stopped",
            )?)?,
            disabled: Some(metrics.register(IntCounter::new(
                "integrations_disabled_total",
                "Chats disabled because they permanently refuse messages",
            )?)?),
            waiting: metrics.register(IntGauge::new(
                "notifications_waiting",
                "Notifications that are not settled, counted up to 10,000",
            )?)?,
        })
    }

    pub(crate) fn mails(metrics: &Metrics) -> Result<Self, prometheus::Error> {
        Ok(Self {
            outcomes: outcomes(
                "mails_total",
                "Settled mails, by outcome",
                &["delivered", "failed"],
                metrics,
            )?,
            retries: metrics.register(IntCounter::new(
                "mail_retries_total",
                "Attempts to send mails that will be retried",
            )?)?,
            possible_duplicates: metrics.register(IntCounter::new(
                "mail_possible_duplicates_total",
                "Mails that may be sent twice, because the server did not answer in time or the sender stopped",
            )?)?,
            disabled: None,
            waiting: metrics.register(IntGauge::new(
                "mails_waiting",
                "Mails that are not settled, counted up to 10,000",
            )?)?,
        })
    }

    pub(crate) fn webhooks(metrics: &Metrics) -> Result<Self, prometheus::Error> {
        let outcomes = outcomes(
            "webhook_calls_total",
            "Attempts to call webhooks, by outcome; pending ones will be retried",
            &["delivered", "pending", "failed", "skipped"],
            metrics,
        )?;
        Ok(Self {
            retries: outcomes.with_label_values(&["pending"]),
            outcomes,
            possible_duplicates: metrics.register(IntCounter::new(
                "webhook_possible_duplicates_total",
                "Webhook calls that may be sent twice, because the receiver did not answer in time or the sender stopped",
            )?)?,
            disabled: Some(metrics.register(IntCounter::new(
                "webhooks_disabled_total",
                "Webhooks disabled because they permanently refuse calls or failed for days",
            )?)?),
            waiting: metrics.register(IntGauge::new(
                "webhook_calls_waiting",
                "Webhook calls that are not settled, counted up to 10,000",
            )?)?,
        })
    }

    pub(crate) fn logouts(metrics: &Metrics) -> Result<Self, prometheus::Error> {
        Ok(Self {
            outcomes: outcomes(
                "logout_calls_total",
                "Settled logout calls to OAuth clients, by outcome",
                &["delivered", "failed"],
                metrics,
            )?,
            retries: metrics.register(IntCounter::new(
                "logout_call_retries_total",
                "Logout calls to OAuth clients that will be retried",
            )?)?,
            possible_duplicates: metrics.register(IntCounter::new(
                "logout_call_possible_duplicates_total",
                "Logout calls that may be sent twice, because the sender stopped",
            )?)?,
            disabled: None,
            waiting: metrics.register(IntGauge::new(
                "logout_calls_waiting",
                "Logout calls that are not settled, counted up to 10,000",
            )?)?,
        })
    }

    pub(crate) fn count(&self, counts: &TransitionCounts) {
        for &(state, count) in &counts.ended {
            let outcome = self.outcomes.with_label_values(&[state.name()]);
            outcome.inc_by(u64::try_from(count).unwrap_or_default());
        }
        self.retries.inc_by(counts.retries);
        let possible = u64::try_from(counts.possible_duplicates).unwrap_or_default();
        self.possible_duplicates.inc_by(possible);
        if let Some(disabled) = &self.disabled {
            disabled.inc_by(counts.disabled);
        }
    }
}

/// Registers a counter that starts at 0 for each outcome. Prometheus does not see an increase from a missing value.
fn outcomes(
    name: &str,
    help: &str,
    outcomes: &[&str],
    metrics: &Metrics,
) -> Result<IntCounterVec, prometheus::Error> {
    let counter = IntCounterVec::new(Opts::new(name, help), &["outcome"])?;
    for outcome in outcomes {
        counter.with_label_values(&[outcome]);
    }
    metrics.register(counter)
}
