//! Calling webhooks.
//!
//! Which webhook hears of what is the work-session service's affair. `intake` writes each call down as a row
//! and lets the broker forget it; `ledger` is the only place that moves rows, by the rules in `moves`; `work`
//! is what the scheduler runs: it holds a webhook, has `sender` sign (`signature`) and post, and has the
//! ledger write down what came of it, which is told back after each try. A webhook is held by one process at
//! a time, so that one that hangs keeps nobody waiting but itself, and `Retry-After` holds for all replicas.

mod intake;
mod ledger;
mod model;
mod moves;
mod queries;
mod sender;
mod signature;
mod work;

use std::sync::Arc;

use broker::{Broker, ConsumerHandle};
use tokio::sync::Notify;

pub(crate) use ledger::Ledger;
pub(crate) use sender::Sender;

use crate::scheduler::Scheduler;

/// Webhooks at work.
#[derive(Debug)]
pub(crate) struct Webhooks {
    consumer: ConsumerHandle,
    scheduler: Scheduler,
}

impl Webhooks {
    /// Starts to take calls in and to make them.
    pub(crate) fn start(broker: &Broker, ledger: Ledger, sender: Sender) -> Self {
        let wake = Arc::new(Notify::new());
        let calling = work::Calling::new(ledger.clone(), sender);
        let scheduler = Scheduler::spawn(calling, Arc::clone(&wake));
        let consumer = intake::consume(broker, ledger, wake);
        Self {
            consumer,
            scheduler,
        }
    }

    /// Takes nothing more in and finishes what is under way; the rest waits in the database.
    pub(crate) async fn stop(self) {
        self.consumer.stop().await;
        self.scheduler.stop().await;
    }
}
