use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::schema::mails;

/// A mail as stored, while it is open.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = mails)]
pub(super) struct MailRow {
    pub(super) event_id: String,
    pub(super) template: String,
    pub(super) sealed: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) state: String,
    /// While it is leased, the one under way included.
    pub(super) attempts: i64,
    pub(super) lease_owner: Option<String>,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
    pub(super) created_at: NaiveDateTime,
}

/// A mail to be written down.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = mails)]
pub(super) struct NewMail {
    pub(super) event_id: String,
    pub(super) template: String,
    pub(super) sealed: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) state: &'static str,
    pub(super) attempts: i64,
    pub(super) due_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) created_at: NaiveDateTime,
}

/// States of a mail that is open.
pub(super) const PENDING: &str = "pending";
pub(super) const SENDING: &str = "sending";
pub(super) const LOCKED: &str = "locked";

/// How a mail ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Delivered,
    Failed,
}

impl Ending {
    /// The mail's state, and the label of its figure.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// What came of sending. No reason holds an address, a link or what a server said in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The mail server, or the folder, has it.
    Delivered,
    /// This mail later, perhaps.
    Later {
        /// A sentence.
        reason: String,
        /// It may have been taken all the same.
        maybe_taken: bool,
    },
    /// This mail never.
    Refused(String),
    /// It says nothing of this mail: the server was not there, or the process stops.
    Untried(Option<String>),
    /// It does not open before the operator gives the key.
    Locked(String),
}
