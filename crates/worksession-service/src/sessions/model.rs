use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use db_kit::json;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};
use serde::Serialize;
use service_kit::Problem;
use service_kit::http::Path;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::error::Error;
use crate::rules::credit::{Completion, OPEN_AFTER_PLANNED_END};
use crate::rules::integrity::IntegrityFlag;
use crate::rules::locked_fields::LockedFields;

/// The status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromSqlRow, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Status)]
pub(crate) enum SessionStatus {
    /// The timer is running.
    Running,
    /// Ended by the next start; can still be submitted.
    AwaitingSubmit,
    /// Submitted; the whole plan was worked.
    Completed,
    /// Submitted; less than the plan was worked.
    Partial,
    /// Not submitted in time.
    Abandoned,
}

impl SessionStatus {
    /// All statuses, in the order of a session's life.
    pub(crate) const ALL: [Self; 5] = [
        Self::Running,
        Self::AwaitingSubmit,
        Self::Completed,
        Self::Partial,
        Self::Abandoned,
    ];

    /// Returns the name in JSON and in the database.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::AwaitingSubmit => "awaiting_submit",
            Self::Completed => "completed",
            Self::Partial => "partial",
            Self::Abandoned => "abandoned",
        }
    }

    /// Whether the session can still be submitted.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::AwaitingSubmit)
    }

    /// Whether the session was submitted in time.
    pub(crate) fn is_executed(self) -> bool {
        matches!(self, Self::Completed | Self::Partial)
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

impl From<Completion> for SessionStatus {
    fn from(completion: Completion) -> Self {
        match completion {
            Completion::Completed => Self::Completed,
            Completion::Partial | Completion::Brief => Self::Partial,
        }
    }
}

impl<DB: Backend> FromSql<Text, DB> for SessionStatus
where
    String: FromSql<Text, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        let name = <String as FromSql<Text, DB>>::from_sql(value)?;
        Self::from_name(&name).ok_or_else(|| format!("unknown session status {name:?}").into())
    }
}

/// The columns of a session for starts and submits. `find.sql`, `abandon.sql`, `start/*.sql` and `submit/sessions.*.sql`
/// list them in this order.
#[derive(Debug, Clone, Queryable, Serialize)]
pub(crate) struct SessionRow {
    pub(crate) session_id: String,
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    pub(crate) client: String,
    pub(crate) category: String,
    pub(crate) planned_duration: i32,
    pub(crate) planning_note: String,
    pub(crate) project_id: String,
    pub(crate) project_name: String,
    pub(crate) team_id: Option<TeamId>,
    pub(crate) team_name: Option<String>,
    /// [`event_types::ChatTarget`] as JSON.
    pub(crate) chat: Option<String>,
    pub(crate) status: SessionStatus,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) started_at: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) expected_end_at: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) ended_at: Option<NaiveDateTime>,
    pub(crate) zone: String,
    pub(crate) start_digest: String,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) submitted_at: Option<NaiveDateTime>,
    pub(crate) submit_digest: Option<String>,
    pub(crate) submit_result: Option<String>,
}

pub(crate) type SessionSql = (
    Text,
    BigInt,
    Text,
    Text,
    Text,
    Integer,
    Text,
    Text,
    Text,
    Nullable<BigInt>,
    Nullable<Text>,
    Nullable<Text>,
    Text,
    Timestamp,
    Timestamp,
    Nullable<Timestamp>,
    Text,
    Text,
    Nullable<Timestamp>,
    Nullable<Text>,
    Nullable<Text>,
);

impl SessionRow {
    /// Whether the session can be submitted for credit at `now`, even before the sweeper has run.
    pub(crate) fn is_open(&self, now: NaiveDateTime) -> bool {
        self.status.is_open() && now < self.expected_end_at + OPEN_AFTER_PLANNED_END
    }
}

impl<'a> From<&'a SessionRow> for LockedFields<'a> {
    fn from(session: &'a SessionRow) -> Self {
        Self {
            category: &session.category,
            duration: session.planned_duration.into(),
            project_id: &session.project_id,
            planning_note: &session.planning_note,
        }
    }
}

/// The row of an integrity flag.
#[derive(Debug, Insertable, Serialize)]
#[diesel(table_name = crate::schema::session_flags)]
pub(crate) struct NewFlag {
    session_id: String,
    user_id: UserId,
    kind: &'static str,
    severity: &'static str,
    amount: i64,
    #[serde(serialize_with = "json::timestamp")]
    created_at: NaiveDateTime,
}

impl NewFlag {
    pub(crate) fn new(
        session_id: &str,
        user_id: UserId,
        flag: IntegrityFlag,
        created_at: NaiveDateTime,
    ) -> Self {
        Self {
            session_id: session_id.to_owned(),
            user_id,
            kind: flag.kind(),
            severity: flag.severity().name(),
            amount: flag.amount(),
            created_at,
        }
    }
}

/// Returns the session id of a path. What no path may hold, such as NUL, names no session.
pub(super) fn parse_path_id(path: Result<Path<(String,)>, Problem>) -> Result<String, Error> {
    path.map(|Path((id,))| id)
        .map_err(|_| Error::SessionNotFound)
}

/// Parses a session id into its canonical spelling. A malformed id names no session.
pub(super) fn parse_session_id(text: &str) -> Result<String, Error> {
    let id = Uuid::try_parse(text).map(|id| id.to_string()).ok();
    let id = id.filter(|id| id.eq_ignore_ascii_case(text));
    id.ok_or(Error::SessionNotFound)
}
