//! The input of a submit, what is loaded for it, and the rows that it stores.

use auth_types::UserId;
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use db_kit::Batcher;
use db_kit::json;
use db_kit::outbox::NewOutboxRow;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};
use serde::Serialize;
use service_kit::http::RequestId;

use crate::error::Error;
use crate::rollups::{UserTotals, UserTotalsSql};
use crate::rules::integrity::CreditedInterval;
use crate::rules::streaks::{LocalInstant, StreakDay};
use crate::sessions::model::{NewFlag, SessionRow, SessionStatus};
use crate::sessions::wire::Submission;

/// One request to submit a session.
#[derive(Debug, Clone)]
pub(crate) struct SubmitAttempt {
    pub(crate) user: UserId,
    pub(crate) submission: Submission,
    /// Identifies a repeated submit.
    pub(crate) digest: String,
    /// When the request arrived.
    pub(crate) now: DateTime<Utc>,
    pub(crate) request_id: RequestId,
}

/// The outcome of an attempt.
#[derive(Debug)]
pub(crate) enum SubmitOutcome {
    /// The rows to store; the response is among them.
    Submitted(Box<SubmitRows>),
    /// The response to the same, earlier submit.
    Answered(String),
    /// Locked fields differ from the plan of this session.
    Differs(Box<SessionRow>, Vec<&'static str>),
    Refused(Error),
    /// Another transaction holds the user's lock, or has changed their data: nothing was stored.
    Busy,
}

/// Coalesces the submits of concurrent callers.
pub(crate) type SubmitBatcher = Batcher<SubmitAttempt, SubmitOutcome>;

/// The session of an attempt, and what decides it.
#[derive(Debug)]
pub(crate) struct LoadedSubmit {
    pub(crate) session: SessionRow,
    /// The user's current time zone, for the periods in the response.
    pub(crate) zone: String,
    /// The number of the user's last change.
    pub(crate) seq: i64,
    /// None when the session is already submitted.
    pub(crate) context: Option<SubmitContext>,
    /// The user's counted days, in order; only loaded for a session out of order.
    pub(crate) counted_days: Vec<StreakDay>,
    /// The credited time of nearby sessions; only loaded where it may be too much.
    pub(crate) nearby_credit: Vec<CreditedInterval>,
}

/// The user's totals before this session, and the rollups and sessions near it.
#[derive(Debug, Queryable)]
pub(crate) struct SubmitContext {
    pub(crate) totals: UserTotals,
    pub(crate) nearby: SessionSurroundings,
}

/// The SQL types of [`SubmitContext`].
pub(super) type SubmitContextSql = (UserTotalsSql, SurroundingsSql);

/// The session's own day, hour, category, week and month, and its neighbours.
#[derive(Debug, Queryable)]
pub(crate) struct SessionSurroundings {
    /// Credited in the local day so far; none when nothing was submitted in it.
    pub(crate) day_minutes: Option<i32>,
    first_start: Option<NaiveDateTime>,
    first_offset: Option<i32>,
    last_start: Option<NaiveDateTime>,
    last_offset: Option<i32>,
    pub(crate) hour_minutes: i64,
    pub(crate) category_minutes: i64,
    /// Counted days of the ISO week, without the session's own day.
    pub(crate) other_days_in_week: i32,
    /// When the user's previous session ended.
    pub(crate) previous_end: Option<NaiveDateTime>,
    /// When the user's next session started. One that ended before it started covers no time: the clock was set back,
    /// or the clocks of two replicas differ.
    pub(crate) next_start: Option<NaiveDateTime>,
    /// Credited to the sessions that can share 24 hours with this one, which has no credit yet.
    pub(crate) minutes: i32,
    /// Flags that keep the session off the boards.
    pub(crate) suspect_flags: i64,
    /// The breakdowns of the local day and month, as stored.
    pub(crate) by_hour: Option<String>,
    pub(crate) by_category: Option<String>,
    pub(crate) by_project: Option<String>,
    pub(crate) month_by_day: Option<String>,
    pub(crate) month_by_hour: Option<String>,
    pub(crate) month_by_category: Option<String>,
    pub(crate) month_by_project: Option<String>,
}

type SurroundingsSql = (
    Nullable<Integer>,
    Nullable<Timestamp>,
    Nullable<Integer>,
    Nullable<Timestamp>,
    Nullable<Integer>,
    BigInt,
    BigInt,
    Integer,
    Nullable<Timestamp>,
    Nullable<Timestamp>,
    Integer,
    BigInt,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
    Nullable<Text>,
);

impl SessionSurroundings {
    /// Returns the session's day so far, with its credited minutes.
    pub(crate) fn day_before(&self, date: NaiveDate) -> Option<(StreakDay, i32)> {
        let instant = |at: Option<NaiveDateTime>, offset: Option<i32>| {
            at.zip(offset)
                .map(|(at, offset)| LocalInstant { at, offset })
        };
        let first = instant(self.first_start, self.first_offset)?;
        let last = instant(self.last_start, self.last_offset)?;
        Some((StreakDay { date, first, last }, self.day_minutes?))
    }
}

/// All rows that a submit writes; an empty list writes nothing. The fields have the names of the columns: PostgreSQL would
/// ignore another name, and store NULL.
#[derive(Debug, Serialize)]
pub(crate) struct SubmitRows {
    pub(crate) user_id: UserId,
    /// The number of the user's last change at load time. If there is another by now, nothing is stored.
    pub(crate) seen: i64,
    pub(crate) session: SubmittedSession,
    pub(crate) totals: Vec<TotalsRow>,
    pub(crate) days: Vec<DayRow>,
    pub(crate) months: Vec<MonthRow>,
    pub(crate) hours: Vec<HourRow>,
    pub(crate) categories: Vec<CategoryRow>,
    pub(crate) boards: Vec<BoardRow>,
    pub(crate) badges: Vec<BadgeRow>,
    pub(crate) flags: Vec<NewFlag>,
    pub(crate) events: Vec<NewOutboxRow>,
}

impl SubmitRows {
    /// Creates the rows of a submit that changes only its session.
    pub(crate) fn new(user_id: UserId, seen: i64, session: SubmittedSession) -> Self {
        Self {
            user_id,
            seen,
            session,
            totals: Vec::new(),
            days: Vec::new(),
            months: Vec::new(),
            hours: Vec::new(),
            categories: Vec::new(),
            boards: Vec::new(),
            badges: Vec::new(),
            flags: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// The columns of `sessions` that a submit sets.
#[derive(Debug, Serialize)]
pub(crate) struct SubmittedSession {
    pub(crate) session_id: String,
    pub(crate) status: SessionStatus,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) ended_at: NaiveDateTime,
    /// None for a submit that came too late for credit, as is the offset.
    pub(crate) local_day: Option<NaiveDate>,
    pub(crate) utc_offset: Option<i32>,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) submitted_at: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) start_time: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) end_time: NaiveDateTime,
    pub(crate) credited_minutes: i32,
    pub(crate) points_centi: i64,
    pub(crate) note: String,
    pub(crate) quality_rating: Option<i32>,
    /// A JSON array.
    pub(crate) tags: String,
    pub(crate) submit_digest: String,
    /// The response as JSON.
    pub(crate) submit_result: String,
    pub(crate) on_boards: bool,
}

/// The user's totals including this session.
#[derive(Debug, Serialize)]
pub(crate) struct TotalsRow {
    pub(crate) user_id: UserId,
    #[serde(flatten)]
    pub(crate) totals: UserTotals,
}

/// What the session adds to its local day, with the day's new first and last start and breakdowns.
#[derive(Debug, Serialize)]
pub(crate) struct DayRow {
    pub(crate) user_id: UserId,
    pub(crate) day: NaiveDate,
    pub(crate) sessions: i32,
    pub(crate) minutes: i32,
    pub(crate) points_centi: i64,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) first_start: NaiveDateTime,
    pub(crate) first_offset: i32,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) last_start: NaiveDateTime,
    pub(crate) last_offset: i32,
    pub(crate) by_hour: String,
    pub(crate) by_category: String,
    pub(crate) by_project: String,
}

/// The new breakdowns of the local month.
#[derive(Debug, Serialize)]
pub(crate) struct MonthRow {
    pub(crate) user_id: UserId,
    /// The month's first day.
    pub(crate) month: NaiveDate,
    pub(crate) by_day: String,
    pub(crate) by_hour: String,
    pub(crate) by_category: String,
    pub(crate) by_project: String,
}

/// What the session adds to its hour.
#[derive(Debug, Serialize)]
pub(crate) struct HourRow {
    pub(crate) user_id: UserId,
    pub(crate) hour: i32,
    pub(crate) minutes: i32,
}

/// What the session adds to its category.
#[derive(Debug, Serialize)]
pub(crate) struct CategoryRow {
    pub(crate) user_id: UserId,
    pub(crate) category: String,
    pub(crate) minutes: i32,
}

/// What the session adds to a board.
#[derive(Debug, Serialize)]
pub(crate) struct BoardRow {
    /// The team's id, or 0 for the board of everybody.
    pub(crate) scope: i64,
    pub(crate) period: &'static str,
    pub(crate) start: NaiveDate,
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    pub(crate) points_centi: i64,
    pub(crate) minutes: i32,
    pub(crate) sessions: i64,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) reached_at: NaiveDateTime,
}

/// A badge that the session earned.
#[derive(Debug, Serialize)]
pub(crate) struct BadgeRow {
    pub(crate) user_id: UserId,
    pub(crate) badge: String,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) earned_at: NaiveDateTime,
}
