use auth_types::UserId;
use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::AsUtc;
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
pub(crate) struct FlagFilter {
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

/// A flag with fields of its session.
#[derive(Debug, Queryable, Serialize)]
pub(crate) struct FlagEntry {
    pub(crate) id: i64,
    pub(crate) session_id: String,
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    pub(crate) kind: String,
    pub(crate) severity: String,
    /// What was observed, as a sentence.
    #[diesel(deserialize_as = StoredReason)]
    pub(crate) reason: String,
    pub(crate) state: String,
    /// Why it was cleared or upheld.
    pub(crate) decision: Option<String>,
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    pub(crate) decided_at: Option<DateTime<Utc>>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    pub(crate) created_at: DateTime<Utc>,
    /// The credited minutes of the session.
    pub(crate) credited_minutes: i32,
}

/// The kind of a flag and its measure.
#[derive(Debug, Queryable)]
pub(crate) struct StoredReason(String, i64);

impl From<StoredReason> for String {
    fn from(StoredReason(kind, amount): StoredReason) -> Self {
        integrity::describe(&kind, amount)
    }
}
