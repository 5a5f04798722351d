use auth_types::UserId;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text, Timestamp};

/// What somebody's sessions on a team's projects come to.
#[derive(Debug, Clone, Queryable)]
pub(super) struct SumRow {
    pub(super) user_id: UserId,
    /// One that the user had at one of these starts.
    pub(super) username: String,
    pub(super) sessions: i64,
    pub(super) planned_minutes: i64,
    pub(super) credited_minutes: i64,
}

/// The SQL types of [`SumRow`].
pub(super) type SumSql = (BigInt, Text, BigInt, BigInt, BigInt);

/// A session that runs.
#[derive(Debug, Clone, Queryable)]
pub(super) struct RunningRow {
    pub(super) session_id: String,
    pub(super) user_id: UserId,
    pub(super) username: String,
    pub(super) project_id: String,
    pub(super) project_name: String,
    pub(super) category: String,
    pub(super) planned_duration: i32,
    pub(super) started_at: NaiveDateTime,
    pub(super) expected_end_at: NaiveDateTime,
}

/// The SQL types of [`RunningRow`].
pub(super) type RunningSql = (
    Text,
    BigInt,
    Text,
    Text,
    Text,
    Text,
    Integer,
    Timestamp,
    Timestamp,
);
