use auth_types::UserId;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};

use crate::sessions::Status;

/// A session as the team sees it.
#[derive(Debug, Clone, Queryable)]
pub(super) struct ActivityRow {
    pub(super) session_id: String,
    pub(super) user_id: UserId,
    /// As it was at the start.
    pub(super) username: String,
    pub(super) category: String,
    pub(super) planned_duration: i32,
    pub(super) planning_note: String,
    pub(super) status: Status,
    pub(super) started_at: NaiveDateTime,
    pub(super) expected_end_at: NaiveDateTime,
    pub(super) ended_at: Option<NaiveDateTime>,
    pub(super) credited_minutes: i32,
    /// None while the notifier has not said.
    pub(super) outcome: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) settled_at: Option<NaiveDateTime>,
}

/// The SQL types of [`ActivityRow`].
pub(super) type ActivitySql = (
    Text,
    BigInt,
    Text,
    Text,
    Integer,
    Text,
    Text,
    Timestamp,
    Timestamp,
    Nullable<Timestamp>,
    Integer,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Timestamp>,
);
