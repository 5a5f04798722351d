use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::WebhookOutcome;

use crate::schema::{webhook_calls, webhooks};

/// A webhook as stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = webhooks)]
pub(super) struct WebhookRow {
    pub(super) webhook_id: i64,
    pub(super) revision: i64,
    pub(super) state: String,
    pub(super) sealed: Option<String>,
    pub(super) failures: i64,
    pub(super) failing_since: Option<NaiveDateTime>,
    pub(super) free_at: NaiveDateTime,
    pub(super) lease_owner: Option<String>,
    /// When to look; the end of the lease while somebody holds it.
    pub(super) due_at: Option<NaiveDateTime>,
}

impl WebhookRow {
    /// The sealed target, if calls are to go there.
    pub(super) fn target(&self) -> Option<&str> {
        self.sealed.as_deref().filter(|_| self.state == ACTIVE)
    }
}

/// States of a webhook.
pub(super) const UNKNOWN: &str = "unknown";
pub(super) const ACTIVE: &str = "active";
pub(super) const OFF: &str = "off";
pub(super) const REMOVED: &str = "removed";

/// A call as stored, while it is open.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = webhook_calls)]
pub(super) struct CallRow {
    pub(super) delivery_id: String,
    pub(super) webhook_id: i64,
    pub(super) request_id: Option<String>,
    pub(super) body: String,
    pub(super) step: i64,
    /// While it is made, the one under way included; so are the tries.
    pub(super) attempts: i64,
    pub(super) tries: i64,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
}

/// A call to be written down.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = webhook_calls)]
pub(super) struct NewCall {
    pub(super) delivery_id: String,
    pub(super) webhook_id: i64,
    pub(super) revision: i64,
    pub(super) user_id: i64,
    pub(super) request_id: Option<String>,
    pub(super) body: String,
    pub(super) state: &'static str,
    pub(super) step: i64,
    pub(super) attempts: i64,
    pub(super) tries: i64,
    pub(super) next_attempt_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
}

/// States of a call that is open.
pub(super) const PENDING: &str = "pending";
pub(super) const SENDING: &str = "sending";

/// The state of a call that stands so, and the label of its figure.
pub(super) fn name(outcome: WebhookOutcome) -> &'static str {
    match outcome {
        WebhookOutcome::Delivered => "delivered",
        WebhookOutcome::Pending => PENDING,
        WebhookOutcome::Failed => "failed",
        WebhookOutcome::Skipped => "skipped",
    }
}

/// A call to be made, by whoever holds the webhook.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The revision of the target.
    pub(super) revision: i64,
    pub(super) sealed: String,
    pub(super) call: CallRow,
    /// The end of the lease under which it is made. Who holds the webhook now, and was given it later, has another.
    pub(super) held_until: NaiveDateTime,
}

/// What the receiver had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reply {
    /// None when there was no answer.
    pub(super) status: Option<u16>,
    /// How long it took.
    pub(super) took: Duration,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The receiver has it.
    Delivered(Reply),
    /// Later, perhaps.
    Later {
        reply: Reply,
        /// A sentence without the address.
        reason: String,
        /// What the other side asked for.
        wait: Option<Duration>,
        /// It may have been taken all the same.
        maybe_taken: bool,
    },
    /// The receiver wants nothing from us any more.
    Gone {
        reply: Reply,
        /// A sentence without the address.
        reason: String,
    },
    /// It says nothing of the receiver: the operator has something to mend.
    Unsent(String),
}
