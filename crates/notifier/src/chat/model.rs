use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::schema::{deliveries, destinations};

/// A project's hook as stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = destinations)]
pub(super) struct DestinationRow {
    pub(super) project_id: i64,
    pub(super) revision: i64,
    pub(super) state: String,
    pub(super) sealed: Option<String>,
    pub(super) failures: i64,
    pub(super) free_at: NaiveDateTime,
    pub(super) lease_owner: Option<String>,
}

impl DestinationRow {
    /// The sealed address, if messages are to go there.
    pub(super) fn address(&self) -> Option<&str> {
        self.sealed.as_deref().filter(|_| self.state == ACTIVE)
    }
}

/// States of a destination.
pub(super) const UNKNOWN: &str = "unknown";
pub(super) const ACTIVE: &str = "active";
pub(super) const REMOVED: &str = "removed";
pub(super) const DISABLED: &str = "disabled";

/// A notification as stored, while it is open.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(super) struct DeliveryRow {
    pub(super) event_id: String,
    pub(super) session_id: String,
    pub(super) project_id: i64,
    pub(super) request_id: Option<String>,
    pub(super) payload: Option<String>,
    pub(super) attempts: i64,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
    pub(super) kind: String,
    /// The message it is told in, once that is composed.
    pub(super) batch_id: Option<String>,
}

/// What a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A team is told of a session.
    Plan,
    /// A team is told that a session was submitted.
    Finished,
    /// A team is told that nobody submitted a session.
    Abandoned,
    /// Somebody sees whether the chat is connected.
    Test,
}

impl Kind {
    /// The column `kind`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
            Self::Test => "test",
        }
    }

    /// What a row's column `kind` says; what no version wrote is a plan, as it was before there were kinds.
    pub(super) fn of(name: &str) -> Self {
        [Self::Finished, Self::Abandoned, Self::Test]
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(Self::Plan)
    }

    /// Whether it tells how a session ended that a plan told of.
    pub(super) fn is_end(self) -> bool {
        matches!(self, Self::Finished | Self::Abandoned)
    }
}

/// A notification to be written down.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = deliveries)]
pub(super) struct NewDelivery {
    pub(super) event_id: String,
    pub(super) session_id: String,
    pub(super) project_id: i64,
    pub(super) revision: i64,
    pub(super) request_id: Option<String>,
    pub(super) payload: Option<String>,
    pub(super) state: &'static str,
    pub(super) attempts: i64,
    pub(super) next_attempt_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
    pub(super) created_at: NaiveDateTime,
    pub(super) settled_at: Option<NaiveDateTime>,
    pub(super) kind: &'static str,
}

/// States of a delivery that is open.
pub(super) const PENDING: &str = "pending";
pub(super) const SENDING: &str = "sending";

/// How a delivery ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Delivered,
    Failed,
    Skipped,
}

impl Ending {
    /// The delivery's state, and the label of its figure.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A message to be posted, by whoever holds the hook.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The same for each try, and for no other message.
    pub(super) batch_id: String,
    pub(super) project_id: i64,
    /// The revision of the address.
    pub(super) revision: i64,
    pub(super) sealed: String,
    /// What it tells of, in this order; several in a digest.
    pub(super) deliveries: Vec<DeliveryRow>,
}

/// What came of posting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The chat took it.
    Delivered,
    /// Later, perhaps.
    Later {
        /// A sentence without the address.
        reason: String,
        /// What the other side asked for.
        wait: Option<std::time::Duration>,
        /// It may have been taken all the same.
        maybe_taken: bool,
    },
    /// The chat wants this message never.
    Refused(String),
    /// The chat wants nothing from this address any more.
    Gone(String),
}
