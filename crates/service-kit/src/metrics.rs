//! One Prometheus registry per service, with the metrics of every HTTP server.

mod pool;

use std::time::Duration;

use db_kit::Pool;
use prometheus::core::Collector;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

use self::pool::PoolFigures;
use crate::time_zone;

/// The registry and the HTTP metrics. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    statements: IntCounterVec,
    ready: IntGauge,
}

impl Metrics {
    /// Creates a registry with `http_requests_total`, `http_request_duration_seconds`, `http_request_statements_total`,
    /// `service_ready` and, on Linux, the resources that the process uses.
    ///
    /// # Errors
    /// When the description of a metric is malformed, which any test of a service detects.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let requests = IntCounterVec::new(
            Opts::new("http_requests_total", "Completed requests"),
            &["method", "route", "status"],
        )?;
        let seconds = HistogramVec::new(
            HistogramOpts::new("http_request_duration_seconds", "Request duration").buckets(vec![
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 10.0,
            ]),
            &["route"],
        )?;
        let statements = IntCounterVec::new(
            Opts::new(
                "http_request_statements_total",
                "Database statements of requests, including BEGIN and COMMIT",
            ),
            &["method", "route"],
        )?;
        let ready = IntGauge::new(
            "service_ready",
            "Whether the service is ready for requests, as in /health/ready; checked at each scrape",
        )?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(seconds.clone()))?;
        registry.register(Box::new(statements.clone()))?;
        registry.register(Box::new(ready.clone()))?;
        #[cfg(target_os = "linux")]
        registry.register(Box::new(
            prometheus::process_collector::ProcessCollector::for_self(),
        ))?;
        Ok(Self {
            registry,
            requests,
            seconds,
            statements,
            ready,
        })
    }

    /// Returns the registry, for further metrics.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Registers a metric and returns it.
    ///
    /// # Errors
    /// When a metric of that name exists already.
    pub fn register<C: Collector + Clone + 'static>(
        &self,
        figure: C,
    ) -> Result<C, prometheus::Error> {
        self.registry.register(Box::new(figure.clone()))?;
        Ok(figure)
    }

    /// Registers the load of a pool, which is read at each scrape.
    ///
    /// # Errors
    /// When a pool is registered already.
    pub fn watch_pool(&self, pool: &Pool) -> Result<(), prometheus::Error> {
        let figures = PoolFigures::new(pool.clone())?;
        self.registry.register(Box::new(figures))
    }

    /// Registers `tzdata_info`, whose labels say which rules of time zones the process uses.
    ///
    /// # Errors
    /// When it is registered already.
    pub fn show_time_zones(&self) -> Result<(), prometheus::Error> {
        let labels = ["version", "source"];
        let opts = Opts::new(
            "tzdata_info",
            "The time zone rules in use, as labels; always 1",
        );
        let info = self.register(IntGaugeVec::new(opts, &labels)?)?;
        info.with_label_values(&[time_zone::version(), time_zone::source()])
            .set(1);
        Ok(())
    }

    pub(crate) fn set_ready(&self, ready: bool) {
        self.ready.set(ready.into());
    }

    pub(crate) fn observe(&self, method: &str, route: &str, status: &str, took: Duration) {
        self.requests
            .with_label_values(&[method, route, status])
            .inc();
        self.seconds
            .with_label_values(&[route])
            .observe(took.as_secs_f64());
    }

    /// Counts the database statements of a request.
    pub(crate) fn asked_database(&self, method: &str, route: &str, statements: u64) {
        self.statements
            .with_label_values(&[method, route])
            .inc_by(statements);
    }

    /// Returns all metrics in Prometheus's text format.
    pub(crate) fn render(&self) -> Result<String, prometheus::Error> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        String::from_utf8(text).map_err(|error| prometheus::Error::Msg(error.to_string()))
    }
}
