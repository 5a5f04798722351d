use chrono::NaiveDateTime;
use db_kit::outbox::OutboxStats;
use prometheus::{Gauge, IntCounter, IntGauge, Opts, Registry};

/// The metrics of a relay, each with the label `relay`.
pub(super) struct Metrics {
    pending: IntGauge,
    unroutable: IntGauge,
    oldest_age: Gauge,
    pub(super) published: IntCounter,
    pub(super) returned: IntCounter,
    pub(super) nacked: IntCounter,
    pub(super) unconfirmed: IntCounter,
    pub(super) duplicates: IntCounter,
}

impl Metrics {
    pub(super) fn register(relay: &str, registry: &Registry) -> prometheus::Result<Self> {
        let opts = |name: &str, help: &str| Opts::new(name, help).const_label("relay", relay);
        let gauge = |name, help| {
            let gauge = IntGauge::with_opts(opts(name, help))?;
            registry.register(Box::new(gauge.clone())).map(|()| gauge)
        };
        let counter = |name, help| {
            let counter = IntCounter::with_opts(opts(name, help))?;
            registry
                .register(Box::new(counter.clone()))
                .map(|()| counter)
        };
        let oldest_age = Gauge::with_opts(opts(
            "outbox_oldest_age_seconds",
            "Age of the oldest unpublished event",
        ))?;
        registry.register(Box::new(oldest_age.clone()))?;
        Ok(Self {
            pending: gauge(
                "outbox_pending",
                "Events that are not published yet, counted up to 10,000",
            )?,
            unroutable: gauge(
                "outbox_unroutable",
                "Events without a bound queue, kept in the outbox; anything but 0 needs an operator",
            )?,
            oldest_age,
            published: counter("outbox_published_total", "Events that the broker confirmed")?,
            returned: counter(
                "outbox_returned_total",
                "Events that were returned because no queue is bound to their key, or that could not be read",
            )?,
            nacked: counter("outbox_nacked_total", "Publishes that the broker refused")?,
            unconfirmed: counter("outbox_unconfirmed_total", "Publishes without a confirm")?,
            duplicates: counter(
                "outbox_possible_duplicates_total",
                "Events published again that may have been published before",
            )?,
        })
    }

    pub(super) fn observe(&self, stats: &OutboxStats, now: NaiveDateTime) {
        self.pending.set(stats.pending);
        self.unroutable.set(stats.unroutable);
        let age = stats
            .oldest
            .map_or(0, |oldest| (now - oldest).num_milliseconds().max(0));
        self.oldest_age
            .set(f64::from(i32::try_from(age).unwrap_or(i32::MAX)) / 1000.0);
    }
}
