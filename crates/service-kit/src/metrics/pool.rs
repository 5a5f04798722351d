use db_kit::{Pool, PoolUsage};
use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntGauge};

/// The load of a connection pool. It is read at each scrape, so that no unit of work pays for it.
pub(super) struct PoolFigures {
    pool: Pool,
    size: IntGauge,
    in_use: IntGauge,
    refused: IntCounter,
    /// Two concurrent scrapes must not both update `refused`.
    collecting: Mutex<()>,
}

impl PoolFigures {
    pub(super) fn new(pool: Pool) -> Result<Self, prometheus::Error> {
        Ok(Self {
            pool,
            size: IntGauge::new("database_connections_max", "Maximum connections")?,
            in_use: IntGauge::new("database_connections_in_use", "Connections in use")?,
            refused: IntCounter::new(
                "database_refused_total",
                "Units of work that got no connection in time, or on SQLite could not write in time",
            )?,
            collecting: Mutex::new(()),
        })
    }

    fn figures(&self) -> [&dyn Collector; 3] {
        [&self.size, &self.in_use, &self.refused]
    }
}

impl Collector for PoolFigures {
    fn desc(&self) -> Vec<&Desc> {
        self.figures().iter().flat_map(|one| one.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let PoolUsage {
            size,
            in_use,
            refused,
        } = self.pool.usage();
        self.size.set(i64::try_from(size).unwrap_or(i64::MAX));
        self.in_use.set(i64::try_from(in_use).unwrap_or(i64::MAX));
        let _guard = self.collecting.lock();
        self.refused
            .inc_by(refused.saturating_sub(self.refused.get()));
        self.figures()
            .iter()
            .flat_map(|one| one.collect())
            .collect()
    }
}
