use auth_types::UserId;
use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use serde::Serialize;

use crate::rules::integrity;

/// The decision about a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FlagState {
    /// There is no decision yet.
    Open,
    /// The flag has an innocent explanation: the session counts.
    Cleared,
    /// The flag is confirmed: the session stays off the leaderboards.
    Upheld,
}

impl FlagState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Cleared => "cleared",
            Self::Upheld => "upheld",
        }
    }
}

/// Which flags to list, newest first.
#[derive(Debug)]
pub(crate) struct Filter {
    /// None for every state.
    pub(crate) state: Option<FlagState>,
    /// Whether to list only flags that keep their session off the leaderboards by themselves.
    pub(crate) suspect: bool,
    /// Only flags of this user.
    pub(crate) user: Option<UserId>,
    /// Only flags with a lower id.
    pub(crate) before: Option<i64>,
    pub(crate) limit: i64,
}

/// A flag as stored, with fields of its session.
#[derive(Debug, Queryable)]
pub(super) struct FlagRow {
    pub(super) id: i64,
    pub(super) session_id: String,
    pub(super) user_id: UserId,
    pub(super) username: String,
    pub(super) kind: String,
    pub(super) severity: String,
    pub(super) amount: i64,
    pub(super) state: String,
    pub(super) decision: Option<String>,
    pub(super) decided_at: Option<NaiveDateTime>,
    pub(super) created_at: NaiveDateTime,
    pub(super) credited_minutes: i32,
}

#[derive(Debug, Serialize)]
pub(crate) struct FlagEntry {
    pub(crate) id: i64,
    pub(crate) session_id: String,
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    pub(crate) kind: String,
    pub(crate) severity: String,
    /// What was observed, as a sentence.
    pub(crate) reason: String,
    pub(crate) state: String,
    /// Why it was cleared or upheld.
    pub(crate) decision: Option<String>,
    pub(crate) decided_at: Option<DateTime<Utc>>,
    pub(crate) created_at: DateTime<Utc>,
    /// The credited minutes of the session.
    pub(crate) credited_minutes: i32,
}

impl From<FlagRow> for FlagEntry {
    fn from(row: FlagRow) -> Self {
        Self {
            id: row.id,
            session_id: row.session_id,
            user_id: row.user_id,
            username: row.username,
            reason: integrity::reason(&row.kind, row.amount),
            kind: row.kind,
            severity: row.severity,
            state: row.state,
            decision: row.decision,
            decided_at: row.decided_at.map(|at| at.and_utc()),
            created_at: row.created_at.and_utc(),
            credited_minutes: row.credited_minutes,
        }
    }
}
