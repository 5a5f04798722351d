use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::{DbBackend, json};
use diesel::dsl::{AsSelect, SqlTypeOf};
use diesel::prelude::*;
use serde::Serialize;

use super::state_machine::{AttemptOutcome, PENDING};
use crate::schema::{deliveries, destinations};

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = destinations)]
pub(crate) struct DestinationRow {
    pub(crate) id: String,
    pub(crate) revision: i64,
    pub(crate) state: String,
    pub(crate) sealed: Option<String>,
    pub(crate) failures: i64,
    pub(crate) failing_since: Option<NaiveDateTime>,
    pub(crate) free_at: NaiveDateTime,
    /// When the destination needs attention; during a lease, the end of the lease.
    pub(crate) due_at: Option<NaiveDateTime>,
    pub(crate) lease_owner: Option<String>,
}

/// The states of a destination.
pub(crate) const UNKNOWN: &str = "unknown";
pub(crate) const ACTIVE: &str = "active";
pub(crate) const DISABLED: &str = "disabled";
pub(crate) const REMOVED: &str = "removed";

impl DestinationRow {
    pub(crate) fn is_active(&self) -> bool {
        self.state == ACTIVE
    }
}

/// The settings of a destination, from an event.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) id: String,
    pub(crate) revision: i64,
    /// The sealed address; none when the destination is paused or removed.
    pub(crate) sealed: Option<String>,
    pub(crate) paused: bool,
}

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct DeliveryRow {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) destination_id: String,
    pub(crate) session_id: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) payload: Option<String>,
    /// Counts the reports on the delivery.
    pub(crate) step: i64,
    /// Includes the attempt in progress, as `tries` does.
    pub(crate) attempts: i64,
    /// The attempts since the delivery was last requested: a replay starts again at 0.
    pub(crate) tries: i64,
    pub(crate) give_up_at: NaiveDateTime,
    /// As it was before the attempt in progress: none for a new message.
    pub(crate) message_id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) created_at: NaiveDateTime,
}

/// The SQL types of a [`DeliveryRow`].
pub(crate) type DeliverySql = SqlTypeOf<AsSelect<DeliveryRow, DbBackend>>;

/// A delivery to store. Its fields are columns.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NewDelivery {
    pub(crate) id: String,
    pub(crate) medium: &'static str,
    pub(crate) kind: String,
    pub(crate) destination_id: String,
    pub(crate) revision: i64,
    pub(crate) session_id: Option<String>,
    pub(crate) user_id: Option<i64>,
    pub(crate) request_id: Option<String>,
    pub(crate) payload: Option<String>,
    pub(crate) state: &'static str,
    pub(crate) step: i64,
    pub(crate) attempts: i64,
    pub(crate) tries: i64,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) next_attempt_at: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) give_up_at: NaiveDateTime,
    pub(crate) reason: Option<String>,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) created_at: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) settled_at: Option<NaiveDateTime>,
}

impl NewDelivery {
    /// Creates a delivery that is due now.
    pub(crate) fn new(
        medium: &'static str,
        id: String,
        destination_id: String,
        now: NaiveDateTime,
        give_up_after: Duration,
    ) -> Self {
        Self {
            id,
            medium,
            kind: String::new(),
            destination_id,
            revision: 0,
            session_id: None,
            user_id: None,
            request_id: None,
            payload: None,
            state: PENDING,
            step: 0,
            attempts: 0,
            tries: 0,
            next_attempt_at: now,
            give_up_at: now + give_up_after,
            reason: None,
            created_at: now,
            settled_at: None,
        }
    }
}

impl From<NewDelivery> for DeliveryRow {
    fn from(row: NewDelivery) -> Self {
        Self {
            id: row.id,
            kind: row.kind,
            destination_id: row.destination_id,
            session_id: row.session_id,
            request_id: row.request_id,
            payload: row.payload,
            step: row.step,
            attempts: row.attempts,
            tries: row.tries,
            give_up_at: row.give_up_at,
            message_id: None,
            reason: row.reason,
            created_at: row.created_at,
        }
    }
}

/// An attempt to make, under a lease of the destination.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) destination_id: String,
    /// The revision of the address.
    pub(crate) revision: i64,
    pub(crate) sealed: Option<String>,
    /// The same for each attempt at this message, and unique to it.
    pub(crate) message_id: String,
    /// The deliveries in the message, in this order; several in a digest.
    pub(crate) deliveries: Vec<DeliveryRow>,
    /// The end of the lease, which identifies it: later leases of the destination end later.
    pub(crate) lease_ends: NaiveDateTime,
}

impl Attempt {
    /// Returns when the message expires. All of it expires at once, so that it stays the same message until then.
    pub(crate) fn give_up_at(&self) -> NaiveDateTime {
        let give_ups = self.deliveries.iter().map(|row| row.give_up_at);
        give_ups.max().unwrap_or_default()
    }

    /// Returns the id of the project or webhook.
    pub(crate) fn numeric_id(&self) -> i64 {
        numeric_id(&self.destination_id)
    }
}

/// Returns the id of the destination's project or webhook.
pub(crate) fn numeric_id(destination_id: &str) -> i64 {
    destination_id.parse().unwrap_or_default()
}

/// The response of the other side, for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpReply {
    /// None when there was no response.
    pub(crate) status: Option<u16>,
    pub(crate) took: Duration,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttemptReport {
    pub(crate) outcome: AttemptOutcome,
    /// Set where the medium reports it.
    pub(crate) reply: Option<HttpReply>,
}

impl From<AttemptOutcome> for AttemptReport {
    fn from(outcome: AttemptOutcome) -> Self {
        Self {
            outcome,
            reply: None,
        }
    }
}

/// Creates a delivery of project 3.
#[cfg(test)]
pub(crate) fn delivery_row(id: &str, kind: &str) -> DeliveryRow {
    let at = chrono::DateTime::UNIX_EPOCH.naive_utc();
    let new = NewDelivery::new("chat", id.to_owned(), "3".to_owned(), at, Duration::ZERO);
    DeliveryRow {
        kind: kind.to_owned(),
        ..new.into()
    }
}
