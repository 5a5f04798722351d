use std::future::Future;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;

use super::model::{Answered, Attempt, DeliveryRow, DestinationRow, Reply};
use super::scheduler::Stopping;
use super::state::{Ending, Policy};

/// What differs between chats, mails and webhooks. Cheap to clone.
pub(crate) trait Medium: Clone + Send + Sync + 'static {
    /// The column `medium`.
    const NAME: &'static str;
    /// What the deliveries are, for logs.
    const DELIVERIES: &'static str;
    /// Each delivery is a destination of its own.
    const ONE_EACH: bool = false;

    /// What attempts that follow each other share.
    type Connection: Default + Send;

    fn policy(&self) -> &Policy;

    /// How many attempts may be made at once now.
    fn at_once(&self) -> usize {
        128
    }

    /// How long none may be made.
    fn closed_for(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether the next attempt is to be made on the same connection.
    fn keeps_connection(&self) -> bool {
        false
    }

    /// Makes an attempt, within its lease. When the process stops it ends what it can leave.
    fn send(
        &self,
        connection: &mut Self::Connection,
        attempt: &Attempt,
        stopping: &Stopping,
    ) -> impl Future<Output = Answered> + Send;

    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send {
        async { drop(connection) }
    }

    /// What goes into one message, of what is due at a destination.
    fn compose(&self, ready: Vec<DeliveryRow>) -> Vec<DeliveryRow> {
        ready.into_iter().take(1).collect()
    }

    /// The events that report the outcome of deliveries to the service that asked for them.
    fn report(&self, _: &[DeliveryRow], _: &Report<'_>) -> QueryResult<Vec<NewOutboxRow>> {
        Ok(Vec::new())
    }

    /// The event that reports to the owner of a destination that it was switched off.
    fn report_disabled(
        &self,
        _: &DestinationRow,
        _reason: &str,
        _: DateTime<Utc>,
    ) -> QueryResult<Option<NewOutboxRow>> {
        Ok(None)
    }
}

/// What became of deliveries of one destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<&'a str>,
    pub(crate) reply: Option<Reply>,
    pub(crate) at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ended(Ending),
    /// Tried again at that time.
    Retried(NaiveDateTime),
}
