//! Deliveries, whatever the medium: a chat's message, a mail, a call of a webhook.
//!
//! `state` is their life as one state machine. Inside a transaction `lease` chooses what is to be sent and `transitions`
//! applies what came of it to rows; `ledger` opens the transactions. `scheduler` has the [`Medium`] make the attempts and
//! has their outcomes recorded; `outage` knows of an outage of the database. A destination is leased by one process at a
//! time, so that one that hangs keeps nobody waiting but itself, and that pacing and `Retry-After` hold for all replicas
//! together.

mod lease;
mod ledger;
mod medium;
mod model;
mod outage;
mod queries;
mod scheduler;
mod state;
mod transitions;
mod waits;

use std::sync::Arc;

use broker::ConsumerHandle;
use tokio::sync::Notify;

pub(crate) use ledger::{Ledger, Shared};
pub(crate) use medium::{Medium, Outcome, Report};
#[cfg(test)]
pub(crate) use model::delivery_row;
pub(crate) use model::{
    Answered, Attempt, DeliveryRow, DestinationRow, NewDelivery, Reply, Settings, UNKNOWN, number,
};
pub(crate) use queries::destinations::expect;
pub(crate) use scheduler::Stopping;
pub(crate) use state::{Answer, Ending, LOCKED, PENDING, Policy, Reasons};
pub(crate) use transitions::{Tally, Transitions};
pub(crate) use waits::{call_wait, destination_wait, message_wait};

use scheduler::Scheduler;

/// The deliveries of a medium at work.
#[derive(Debug)]
pub(crate) struct Deliveries {
    consumer: ConsumerHandle,
    scheduler: Scheduler,
}

impl Deliveries {
    /// Starts to make attempts; `wake` is told when there is something to do.
    pub(crate) fn start<M: Medium>(
        ledger: Ledger<M>,
        wake: Arc<Notify>,
        consumer: ConsumerHandle,
    ) -> Self {
        Self {
            scheduler: Scheduler::spawn(ledger, wake),
            consumer,
        }
    }

    /// Takes nothing more in and finishes what is under way; the rest waits in the database.
    pub(crate) async fn stop(self) {
        self.consumer.stop().await;
        self.scheduler.stop().await;
    }
}
