use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use crate::delivery::Tally;

/// What is counted of the deliveries of one medium. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    outcomes: IntCounterVec,
    retries: IntCounter,
    possible_duplicates: IntCounter,
    disabled: IntCounter,
    pub(crate) waiting: IntGauge,
}

impl Figures {
    pub(crate) fn chats(registry: &Registry) -> Result<Self, prometheus::Error> {
        let outcomes = from_zero(
            "notifications_total",
            "Notifications that were settled, by what became of them",
            &["delivered", "failed", "skipped"],
        )?;
        let figures = Self {
            outcomes,
            retries: IntCounter::new(
                "notification_retries_total",
                "Sends that are tried again later",
            )?,
            possible_duplicates: IntCounter::new(
                "notification_possible_duplicates_total",
                "Notifications of which nobody knows whether the chat took them: it did not answer in time, or the sender died",
            )?,
            disabled: IntCounter::new(
                "integrations_disabled_total",
                "Hooks switched off because they refuse us for good",
            )?,
            waiting: IntGauge::new(
                "notifications_waiting",
                "Notifications that are not settled yet, counted up to 10,000",
            )?,
        };
        registry.register(Box::new(figures.retries.clone()))?;
        registry.register(Box::new(figures.disabled.clone()))?;
        figures.register(registry)
    }

    pub(crate) fn mails(registry: &Registry) -> Result<Self, prometheus::Error> {
        let outcomes = from_zero(
            "mails_total",
            "Mails that were settled, by what became of them",
            &["delivered", "failed"],
        )?;
        let figures = Self {
            outcomes,
            retries: IntCounter::new("mail_retries_total", "Mails that are tried again later")?,
            possible_duplicates: IntCounter::new(
                "mail_possible_duplicates_total",
                "Mails of which nobody knows whether the server took them: it did not answer in time, or the sender died",
            )?,
            disabled: IntCounter::new("mail_disabled_total", "Never: a mail has no settings")?,
            waiting: IntGauge::new(
                "mails_waiting",
                "Mails that are not settled yet, counted up to 10,000",
            )?,
        };
        registry.register(Box::new(figures.retries.clone()))?;
        figures.register(registry)
    }

    pub(crate) fn webhooks(registry: &Registry) -> Result<Self, prometheus::Error> {
        let outcomes = from_zero(
            "webhook_calls_total",
            "Tries to call webhooks, by what became of them; pending is tried again",
            &["delivered", "pending", "failed", "skipped"],
        )?;
        let figures = Self {
            retries: outcomes.with_label_values(&["pending"]),
            outcomes,
            possible_duplicates: IntCounter::new(
                "webhook_possible_duplicates_total",
                "Calls of which nobody knows whether the receiver took them: it did not answer in time, or the sender died",
            )?,
            disabled: IntCounter::new(
                "webhooks_disabled_total",
                "Webhooks switched off because they refuse us for good or failed for days",
            )?,
            waiting: IntGauge::new(
                "webhook_calls_waiting",
                "Calls of webhooks that are not settled yet, counted up to 10,000",
            )?,
        };
        registry.register(Box::new(figures.disabled.clone()))?;
        figures.register(registry)
    }

    /// Registers what all media have.
    fn register(self, registry: &Registry) -> Result<Self, prometheus::Error> {
        registry.register(Box::new(self.outcomes.clone()))?;
        registry.register(Box::new(self.possible_duplicates.clone()))?;
        registry.register(Box::new(self.waiting.clone()))?;
        Ok(self)
    }

    /// Counts what a transaction did.
    pub(crate) fn count(&self, tally: &Tally) {
        for &(ending, count) in &tally.ended {
            let count = u64::try_from(count).unwrap_or_default();
            let outcome = self.outcomes.with_label_values(&[ending.name()]);
            outcome.inc_by(count);
        }
        self.retries.inc_by(tally.retries);
        let possible = u64::try_from(tally.possible_duplicates).unwrap_or_default();
        self.possible_duplicates.inc_by(possible);
        self.disabled.inc_by(tally.disabled);
    }
}

/// A figure that begins at 0 for each outcome: a rise from nothing is none that Prometheus sees.
fn from_zero(
    name: &str,
    help: &str,
    outcomes: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    let figure = IntCounterVec::new(Opts::new(name, help), &["outcome"])?;
    for outcome in outcomes {
        figure.with_label_values(&[outcome]);
    }
    Ok(figure)
}
