use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;

use super::model::{Attempt, AttemptReport, DeliveryRow, DestinationRow, HttpReply};
use super::scheduler::ShutdownSignal;
use super::state_machine::{FinalState, Policy};

/// The differences between chats, mails and webhooks. Cheap to clone.
pub(crate) trait Medium: Clone + Send + Sync + 'static {
    /// The value of the column `medium`.
    const NAME: &'static str;
    /// The name of the deliveries in logs.
    const DELIVERIES: &'static str;
    /// Whether each delivery has a destination of its own.
    const ONE_EACH: bool = false;

    /// What consecutive attempts share.
    type Connection: Default + Send;

    fn policy(&self) -> &Policy;

    /// Returns how many attempts may run concurrently now.
    fn at_once(&self) -> usize {
        128
    }

    /// Returns how long no attempt may be made.
    fn blocked_for(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the next attempt uses the same connection.
    fn keeps_connection(&self) -> bool {
        false
    }

    /// Makes an attempt, within its lease. When the process stops, it ends early if that is safe.
    fn send(
        &self,
        connection: &mut Self::Connection,
        attempt: &Attempt,
        stopping: &ShutdownSignal,
    ) -> impl Future<Output = AttemptReport> + Send;

    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send {
        async { drop(connection) }
    }

    /// Selects the deliveries of one message from those that are due at a destination.
    fn compose(&self, ready: Vec<DeliveryRow>) -> Vec<DeliveryRow> {
        ready.into_iter().take(1).collect()
    }

    /// Returns the events that report outcomes to the service that requested the deliveries.
    fn report(&self, _: &[DeliveryRow], _: &DeliveryReport<'_>) -> QueryResult<Vec<NewOutboxRow>> {
        Ok(Vec::new())
    }

    /// Returns the event that reports a disabled destination to its owner.
    fn report_disabled(
        &self,
        _: &DestinationRow,
        _reason: &str,
        _: DateTime<Utc>,
    ) -> QueryResult<Option<NewOutboxRow>> {
        Ok(None)
    }
}

/// The outcome of deliveries to one destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeliveryReport<'a> {
    pub(crate) outcome: DeliveryOutcome,
    pub(crate) reason: Option<&'a str>,
    pub(crate) reply: Option<HttpReply>,
    pub(crate) at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryOutcome {
    Ended(FinalState),
    /// Retried at that time.
    Retried(NaiveDateTime),
}
