//! Metrics of the broker: whether it is connected, and the number of dead letters.

use std::time::Duration;

use broker::{Broker, BrokerState};
use prometheus::{IntGauge, Registry};
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
    pub(crate) fn start(broker: Broker, registry: &Registry) -> Result<Self, prometheus::Error> {
        let connected = IntGauge::new(
            "broker_connected",
            "Whether events can be published and consumed",
        )?;
        let parked = IntGauge::new(
            "parked_messages",
            "Dead letters, which no consumer could read; anything but 0 needs an operator, -1 is unknown",
        )?;
        registry.register(Box::new(connected.clone()))?;
        registry.register(Box::new(parked.clone()))?;
        Ok(Self(tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let is_there = broker.state() != BrokerState::Disconnected;
                connected.set(i64::from(is_there));
                parked.set(broker.parked().await.map_or(UNKNOWN, i64::from));
            }
        })))
    }
}

impl Drop for BrokerMonitor {
    fn drop(&mut self) {
        self.0.abort();
    }
}
