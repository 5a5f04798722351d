use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// What the notifier counts. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    settled: IntCounterVec,
    pub(crate) retries: IntCounter,
    pub(crate) possible_duplicates: IntCounter,
    pub(crate) disabled: IntCounter,
    pub(crate) waiting: IntGauge,
}

impl Figures {
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let figures = Self {
            settled: from_zero(
                IntCounterVec::new(
                    Opts::new(
                        "notifications_total",
                        "Notifications that were settled, by what became of them",
                    ),
                    &["outcome"],
                )?,
                &["delivered", "failed", "skipped"],
            ),
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
        registry.register(Box::new(figures.settled.clone()))?;
        registry.register(Box::new(figures.retries.clone()))?;
        registry.register(Box::new(figures.possible_duplicates.clone()))?;
        registry.register(Box::new(figures.disabled.clone()))?;
        registry.register(Box::new(figures.waiting.clone()))?;
        Ok(figures)
    }

    pub(crate) fn settled(&self, outcome: &str, count: u64) {
        self.settled.with_label_values(&[outcome]).inc_by(count);
    }
}

/// What is counted of mails. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct MailFigures {
    settled: IntCounterVec,
    pub(crate) retries: IntCounter,
    pub(crate) possible_duplicates: IntCounter,
    pub(crate) waiting: IntGauge,
}

impl MailFigures {
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let figures = Self {
            settled: from_zero(
                IntCounterVec::new(
                    Opts::new(
                        "mails_total",
                        "Mails that were settled, by what became of them",
                    ),
                    &["outcome"],
                )?,
                &["delivered", "failed"],
            ),
            retries: IntCounter::new("mail_retries_total", "Mails that are tried again later")?,
            possible_duplicates: IntCounter::new(
                "mail_possible_duplicates_total",
                "Mails of which nobody knows whether the server took them: it did not answer in time, or the sender died",
            )?,
            waiting: IntGauge::new(
                "mails_waiting",
                "Mails that are not settled yet, counted up to 10,000",
            )?,
        };
        registry.register(Box::new(figures.settled.clone()))?;
        registry.register(Box::new(figures.retries.clone()))?;
        registry.register(Box::new(figures.possible_duplicates.clone()))?;
        registry.register(Box::new(figures.waiting.clone()))?;
        Ok(figures)
    }

    pub(crate) fn settled(&self, outcome: &str) {
        self.settled.with_label_values(&[outcome]).inc();
    }
}

/// What is counted of webhooks. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct WebhookFigures {
    told: IntCounterVec,
    pub(crate) possible_duplicates: IntCounter,
    pub(crate) disabled: IntCounter,
    pub(crate) waiting: IntGauge,
}

impl WebhookFigures {
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let figures = Self {
            told: from_zero(
                IntCounterVec::new(
                    Opts::new(
                        "webhook_calls_total",
                        "Tries to call webhooks, by what became of them; pending is tried again",
                    ),
                    &["outcome"],
                )?,
                &["delivered", "pending", "failed", "skipped"],
            ),
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
        registry.register(Box::new(figures.told.clone()))?;
        registry.register(Box::new(figures.possible_duplicates.clone()))?;
        registry.register(Box::new(figures.disabled.clone()))?;
        registry.register(Box::new(figures.waiting.clone()))?;
        Ok(figures)
    }

    pub(crate) fn told(&self, outcome: &str) {
        self.told.with_label_values(&[outcome]).inc();
    }
}

/// A figure that begins at 0 for each outcome: a rise from nothing is none that Prometheus sees.
fn from_zero(figure: IntCounterVec, outcomes: &[&str]) -> IntCounterVec {
    for outcome in outcomes {
        figure.with_label_values(&[outcome]);
    }
    figure
}
