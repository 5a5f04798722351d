use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::schema::destinations;

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
    /// When to look; the end of the lease while somebody holds it.
    pub(super) due_at: Option<NaiveDateTime>,
    /// The message that its holder is sending: its id and those of what it tells of, with spaces between.
    pub(super) sending: Option<String>,
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
#[derive(Debug, Clone, Queryable)]
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
    /// The message it is told in, once that has to be sent again.
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
#[derive(Debug, Clone)]
pub(super) struct NewDelivery {
    pub(super) event_id: String,
    pub(super) session_id: String,
    pub(super) project_id: i64,
    pub(super) revision: i64,
    pub(super) request_id: Option<String>,
    pub(super) payload: Option<Arc<str>>,
    pub(super) state: &'static str,
    pub(super) attempts: i64,
    pub(super) next_attempt_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
    pub(super) created_at: NaiveDateTime,
    pub(super) settled_at: Option<NaiveDateTime>,
    pub(super) kind: &'static str,
}

/// The state of a delivery that is open.
pub(super) const PENDING: &str = "pending";

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

/// Who holds a hook from now on, and when it is next to be looked at.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) destination: DestinationRow,
    pub(super) lease_owner: Option<String>,
    /// The end of the lease while somebody holds it.
    pub(super) due_at: Option<NaiveDateTime>,
    /// See [`Job::sending`].
    pub(super) sending: Option<String>,
}

/// What a job came to, for whoever writes it down.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) job: Job,
    pub(super) answer: Answer,
    /// Whether the hook's next message is wanted, if it is its turn.
    pub(super) keep: bool,
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
    /// When it is given up: all of it at once, so that it stays the same message to the last try.
    pub(super) give_up_at: NaiveDateTime,
    /// The end of the lease under which it is sent. Who holds the hook now, and was given it later, has another.
    pub(super) held_until: NaiveDateTime,
}

impl Job {
    /// The ids of what it tells of.
    pub(super) fn event_ids(&self) -> Vec<&str> {
        let ids = self.deliveries.iter().map(|row| row.event_id.as_str());
        ids.collect()
    }

    /// The same without what people wrote, for which nobody has a use once it is sent.
    pub(super) fn without_words(&self) -> Self {
        let told = |row: &DeliveryRow| DeliveryRow {
            event_id: row.event_id.clone(),
            session_id: row.session_id.clone(),
            request_id: row.request_id.clone(),
            payload: None,
            reason: row.reason.clone(),
            kind: row.kind.clone(),
            batch_id: row.batch_id.clone(),
            ..*row
        };
        Self {
            batch_id: self.batch_id.clone(),
            sealed: self.sealed.clone(),
            deliveries: self.deliveries.iter().map(told).collect(),
            ..*self
        }
    }

    /// What the hook's row says while it is being sent, see [`Composition`].
    pub(super) fn sending(&self) -> String {
        let mut words = vec![self.batch_id.as_str()];
        words.extend(self.event_ids());
        words.join(" ")
    }
}

/// What a hook's row says is being sent.
#[derive(Debug)]
pub(super) struct Composition<'a> {
    pub(super) batch_id: &'a str,
    pub(super) event_ids: Vec<&'a str>,
}

impl<'a> Composition<'a> {
    pub(super) fn of(sending: &'a str) -> Self {
        let mut words = sending.split(' ');
        Self {
            batch_id: words.next().unwrap_or_default(),
            event_ids: words.collect(),
        }
    }
}

/// What came of posting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The chat took it.
    Delivered,
    /// It was not called: others come first there, or were asked to wait. Then is the project's turn.
    NotYet(NaiveDateTime),
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
