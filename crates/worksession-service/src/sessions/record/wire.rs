use chrono::{DateTime, NaiveDateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::RecordRow;
use crate::closed_sets::{FlagKind, FlagReview, FlagSeverity, StartedBy};
use crate::rules::points::Points;
use crate::sessions::model::SessionStatus;
use crate::sessions::wire::PreSessionProject;

/// A session: what was planned, what was executed, and what it earned.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionRecord {
    /// UUIDv7.
    session_id: String,
    status: SessionStatus,
    /// Locked at the start.
    category: String,
    /// Minutes; locked at the start.
    planned_duration: i32,
    /// Locked at the start.
    planning_note: String,
    /// Locked at the start.
    project: PreSessionProject,
    /// When the session started, by the server's clock.
    started_at: DateTime<Utc>,
    /// Start plus planned duration.
    expected_end_at: DateTime<Utc>,
    /// When the session ended for the server; null while it runs.
    ended_at: Option<DateTime<Utc>>,
    /// The start that the client reported in the submit; null before.
    start_time: Option<DateTime<Utc>>,
    /// The end that the client reported in the submit; null before.
    end_time: Option<DateTime<Utc>>,
    /// Null before the submit.
    submitted_at: Option<DateTime<Utc>>,
    /// 0 before the submit.
    credited_minutes: i32,
    /// 0 before the submit.
    points_awarded: Points,
    /// The execution note; empty before the submit.
    note: String,
    /// 1 to 5; null without a rating.
    quality_rating: Option<i32>,
    tags: Vec<String>,
    /// The endpoint that started it: `client_a`, `client_b` or `session`.
    #[schema(value_type = StartedBy)]
    client: String,
    /// Signs of a manipulated client, in the order in which they were raised.
    flags: Vec<Flag>,
}

/// A sign of a manipulated client.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Flag {
    /// `locked_mismatch`, `client_clock`, `future_end` or `long_day`.
    #[schema(value_type = FlagKind)]
    pub(crate) kind: String,
    /// `info`, or `suspect`, which keeps the session off the leaderboards until it is reviewed.
    #[schema(value_type = FlagSeverity)]
    pub(crate) severity: String,
    /// The sign as a sentence, with its measure.
    pub(crate) reason: String,
    /// `open`, or the result of a review: `cleared` or `upheld`.
    #[schema(value_type = FlagReview)]
    pub(crate) state: String,
}

impl From<RecordRow> for SessionRecord {
    fn from(row: RecordRow) -> Self {
        let utc = |at: Option<NaiveDateTime>| at.map(|at| at.and_utc());
        Self {
            session_id: row.session_id,
            status: row.status,
            category: row.category,
            planned_duration: row.planned_duration,
            planning_note: row.planning_note,
            project: PreSessionProject::new(row.project_id, row.project_name),
            started_at: row.started_at.and_utc(),
            expected_end_at: row.expected_end_at.and_utc(),
            ended_at: utc(row.ended_at),
            start_time: utc(row.start_time),
            end_time: utc(row.end_time),
            submitted_at: utc(row.submitted_at),
            credited_minutes: row.credited_minutes,
            points_awarded: Points(row.points_centi),
            note: row.note,
            quality_rating: row.quality_rating,
            tags: row.tags.0,
            client: row.client,
            flags: row.flags.0,
        }
    }
}
