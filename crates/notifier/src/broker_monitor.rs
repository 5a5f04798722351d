//! Metrics of the broker: whether it is connected, and the number of dead letters.

use std::time::Duration;

use broker::{Broker, BrokerState};
use prometheus::IntGauge;
use service_kit::metrics::Metrics;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// How often the broker is queried.
const EVERY: Duration = Duration::from_secs(15);

/// The value of an unknown count.
const UNKNOWN: i64 = -1;

/// The task that queries the broker. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct BrokerMonitor(JoinHandle<()>);

impl BrokerMonitor {
    pub(crate) fn start(broker: Broker, metrics: &Metrics) -> Result<Self, prometheus::Error> {
        let connected = metrics.register(IntGauge::new(
            "broker_connected",
            "Whether events can be published and consumed",
        )?)?;
        let dead_letters = metrics.register(IntGauge::new(
            "parked_messages",
            "Dead letters, which no consumer could read; anything but 0 needs an operator, -1 is unknown",
        )?)?;
        Ok(Self(tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let is_connected = broker.state() != BrokerState::Disconnected;
                connected.set(i64::from(is_connected));
                dead_letters.set(broker.count_dead_letters().await.map_or(UNKNOWN, i64::from));
            }
        })))
    }
}

impl Drop for BrokerMonitor {
    fn drop(&mut self) {
        self.0.abort();
    }
}
