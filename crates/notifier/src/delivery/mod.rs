//! Deliveries of every medium: a chat message, a mail, a webhook call.
//!
//! `state_machine` decides what an outcome means. Inside a transaction, `lease` selects what to send, and `transaction`
//! applies outcomes to rows; `store` opens the transactions. `scheduler` lets the [`Medium`] make the attempts and stores
//! their outcomes; `outage` tracks outages of the database. One process leases a destination at a time. So a
//! destination that hangs delays only itself, and pacing and `Retry-After` apply to all replicas together.

mod lease;
mod medium;
mod model;
mod outage;
mod queries;
mod retry_schedule;
mod scheduler;
mod state_machine;
mod store;
mod transaction;

use std::sync::Arc;

use broker::ConsumerHandle;
use tokio::sync::Notify;

pub(crate) use medium::{DeliveryOutcome, DeliveryReport, Medium};
#[cfg(test)]
pub(crate) use model::delivery_row;
pub(crate) use model::{
    Attempt, AttemptReport, DeliveryRow, DestinationRow, HttpReply, NewDelivery, Settings, UNKNOWN,
    numeric_id,
};
pub(crate) use queries::destinations::mark_due;
pub(crate) use retry_schedule::{call_wait, destination_wait, message_wait};
pub(crate) use scheduler::ShutdownSignal;
pub(crate) use state_machine::{
    AttemptOutcome, FinalState, LOCKED, PENDING, Policy, Reasons, requested_wait,
};
pub(crate) use store::{DeliveryStore, StoreContext};
pub(crate) use transaction::{DeliveryTransaction, TransitionCounts};

use scheduler::Scheduler;

/// The running deliveries of a medium.
#[derive(Debug)]
pub(crate) struct DeliveryRunner {
    consumer: ConsumerHandle,
    scheduler: Scheduler,
}

impl DeliveryRunner {
    /// Starts to make attempts. `wake` is signalled when there is something to send.
    pub(crate) fn start<M: Medium>(
        store: DeliveryStore<M>,
        wake: Arc<Notify>,
        consumer: ConsumerHandle,
    ) -> Self {
        Self {
            scheduler: Scheduler::spawn(store, wake),
            consumer,
        }
    }

    /// Stops consuming and finishes the attempts in progress. Everything else stays in the database.
    pub(crate) async fn stop(self) {
        self.consumer.stop().await;
        self.scheduler.stop().await;
    }
}
