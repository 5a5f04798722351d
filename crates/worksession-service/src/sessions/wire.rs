use chrono::{DateTime, NaiveDateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use service_kit::names::is_readable;
use utoipa::{IntoResponses, ToSchema};

use super::model::{SessionRow, SessionStatus};
use crate::closed_sets::SessionProjectKind;
use crate::error::{Error, ErrorBody};
use crate::projects::ProjectRef;
use crate::projects::text::READABLE;
use crate::rollups::{PointsSummary, StreakSummary};
use crate::rules::points::Points;
use crate::rules::time::parse_instant;
use crate::whole_number::whole_number;

const NOTE_CHARS: usize = 2_000;
const CATEGORY_CHARS: usize = 64;
const MAX_TAGS: usize = 10;
const TAG_CHARS: usize = 32;

/// The plan of a timer; the start locks it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct StartRequest {
    /// 1 to 64 characters.
    #[schema(value_type = String, min_length = 1, max_length = 64)]
    category: Option<String>,
    /// Minutes, 1 to 480. Also accepted as `planned_duration` or `plannedDuration`.
    #[serde(
        default,
        alias = "planned_duration",
        alias = "plannedDuration",
        deserialize_with = "whole_number"
    )]
    #[schema(value_type = i64, minimum = 1, maximum = 480)]
    duration: Option<i64>,
    /// `team_N`, `personal_N`, or absent. Also accepted as `projectId`.
    #[serde(alias = "projectId")]
    project_id: Option<String>,
    /// The planning note, up to 2,000 characters.
    #[schema(max_length = 2000)]
    note: Option<String>,
    /// Another name of `note`, which wins if both are sent. Also accepted as `planningNote`.
    #[serde(alias = "planningNote")]
    #[schema(max_length = 2000)]
    planning_note: Option<String>,
}

/// A validated plan.
#[derive(Debug, Clone)]
pub(crate) struct SessionPlan {
    pub(crate) category: String,
    /// Minutes.
    pub(crate) duration: i32,
    pub(crate) project: ProjectRef,
    pub(crate) note: String,
}

impl TryFrom<StartRequest> for SessionPlan {
    type Error = Error;

    fn try_from(request: StartRequest) -> Result<Self, Error> {
        let category = request
            .category
            .ok_or_else(|| Error::invalid("category is required"))?;
        let category = category.trim();
        if category.is_empty() || category.chars().count() > CATEGORY_CHARS {
            return Err(Error::invalid("category must have 1 to 64 characters"));
        }
        if !is_readable(category) {
            return Err(Error::invalid(format!("category must {READABLE}")));
        }
        let duration = request
            .duration
            .ok_or_else(|| Error::invalid("duration is required"))?;
        let duration = i32::try_from(duration)
            .ok()
            .filter(|minutes| (1..=480).contains(minutes));
        let duration =
            duration.ok_or_else(|| Error::invalid("duration must be 1 to 480 whole minutes"))?;
        let note = check_note(request.planning_note.or(request.note))?;
        let project = ProjectRef::parse(request.project_id.as_deref())?;
        Ok(Self {
            category: category.to_owned(),
            duration,
            project,
            note,
        })
    }
}

/// The submit of a session. Locked fields must match the plan if they are sent.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SubmitRequest {
    /// The session to submit. Without it, the open session whose plan matches and whose start is nearest to `start_time`.
    session_id: Option<String>,
    /// Locked: must match the plan.
    category: Option<String>,
    /// Locked: must match the plan.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    project_id: Option<Option<String>>,
    /// Locked: minutes, must match the plan.
    #[serde(default, deserialize_with = "whole_number")]
    duration: Option<i64>,
    /// The execution note, up to 2,000 characters.
    #[schema(max_length = 2000)]
    note: Option<String>,
    /// When the work began: ISO 8601 with an offset.
    #[schema(value_type = String, format = DateTime)]
    start_time: Option<String>,
    /// When the work ended: ISO 8601 with an offset, not before `start_time`.
    #[schema(value_type = String, format = DateTime)]
    end_time: Option<String>,
    /// 1 to 5.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 5)]
    quality_rating: Option<i32>,
    /// Up to 10 tags of 1 to 32 characters each. They are trimmed, and repeated ones are stored once.
    #[schema(max_items = 10)]
    tags: Option<Vec<String>>,
}

/// A validated submit.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) session_id: Option<String>,
    pub(crate) category: Option<String>,
    pub(crate) project: Option<ProjectRef>,
    pub(crate) duration: Option<i64>,
    pub(crate) note: String,
    /// UTC.
    pub(crate) start_time: NaiveDateTime,
    /// UTC.
    pub(crate) end_time: NaiveDateTime,
    pub(crate) quality_rating: Option<i32>,
    pub(crate) tags: Vec<String>,
}

impl TryFrom<SubmitRequest> for Submission {
    type Error = Error;

    fn try_from(request: SubmitRequest) -> Result<Self, Error> {
        let start_time = parse_time("start_time", request.start_time.as_deref())?;
        let end_time = parse_time("end_time", request.end_time.as_deref())?;
        if end_time < start_time {
            return Err(Error::invalid("end_time must not be before start_time"));
        }
        check_rating(request.quality_rating)?;
        Ok(Self {
            session_id: request.session_id,
            category: request.category.map(|category| category.trim().to_owned()),
            duration: request.duration,
            note: check_note(request.note)?,
            start_time,
            end_time,
            quality_rating: request.quality_rating,
            tags: check_tags(request.tags.unwrap_or_default())?,
            project: request
                .project_id
                .map(|text| ProjectRef::parse(text.as_deref()))
                .transpose()?,
        })
    }
}

/// The plan of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreSession {
    /// Locked at the start.
    category: String,
    /// Minutes; locked at the start.
    planned_duration: i32,
    /// Locked at the start.
    planning_note: String,
    /// Locked at the start.
    project: PreSessionProject,
}

/// The project of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreSessionProject {
    /// `team_N`, `personal_N` or `none`.
    id: String,
    /// Empty for `none`.
    name: String,
    /// `team`, `personal` or `none`.
    #[serde(rename = "type")]
    #[schema(value_type = SessionProjectKind)]
    kind: String,
}

impl PreSessionProject {
    /// Creates the project from the columns `project_id` and `project_name`.
    pub(super) fn new(id: String, name: String) -> Self {
        Self {
            kind: project_kind(&id).to_owned(),
            id,
            name,
        }
    }
}

impl From<&SessionRow> for PreSession {
    fn from(row: &SessionRow) -> Self {
        Self {
            category: row.category.clone(),
            planned_duration: row.planned_duration,
            planning_note: row.planning_note.clone(),
            project: PreSessionProject::new(row.project_id.clone(), row.project_name.clone()),
        }
    }
}

/// A started session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StartResponse {
    success: bool,
    /// UUIDv7.
    session_id: String,
    presession: PreSession,
    /// When the session started, by the server's clock.
    started_at: DateTime<Utc>,
    /// Start plus planned duration.
    expected_end_at: DateTime<Utc>,
}

impl From<&SessionRow> for StartResponse {
    fn from(row: &SessionRow) -> Self {
        Self {
            success: true,
            session_id: row.session_id.clone(),
            presession: row.into(),
            started_at: row.started_at.and_utc(),
            expected_end_at: row.expected_end_at.and_utc(),
        }
    }
}

/// The responses to a start, the same for all clients.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes the responses of three handlers")]
pub(crate) enum StartResponses {
    /// The session was started.
    #[response(status = 201)]
    Started(StartResponse),
    /// The same request has already started this session.
    #[response(status = 200)]
    Repeated(StartResponse),
    /// Not authorized to access this team project
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// Team project not found, or Project not found
    #[response(status = 404)]
    NotFound(ErrorBody),
    /// Project is archived
    #[response(status = 409)]
    Archived(ErrorBody),
    /// Idempotency-Key was used with another request
    #[response(status = 422)]
    KeyReused(ErrorBody),
    /// Too many starts; see Retry-After
    #[response(status = 429)]
    TooMany(ErrorBody),
}

/// The plan and the status of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreSessionResponse {
    success: bool,
    presession: PreSession,
    session_id: String,
    status: SessionStatus,
    started_at: DateTime<Utc>,
    expected_end_at: DateTime<Utc>,
}

impl From<&SessionRow> for PreSessionResponse {
    fn from(row: &SessionRow) -> Self {
        Self {
            success: true,
            presession: row.into(),
            session_id: row.session_id.clone(),
            status: row.status,
            started_at: row.started_at.and_utc(),
            expected_end_at: row.expected_end_at.and_utc(),
        }
    }
}

/// The result of a submit. It is stored with the session: a repeated submit gets the same response.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SubmitResponse {
    pub(crate) success: bool,
    pub(crate) session_id: String,
    /// `completed`, `partial`, or `abandoned` after a submit that came too late.
    pub(crate) status: SessionStatus,
    pub(crate) credited_minutes: i32,
    pub(crate) points_awarded: Points,
    /// The user's points after this session.
    pub(crate) points: PointsSummary,
    /// The user's streaks after this session.
    pub(crate) streaks: StreakSummary,
    /// Badges that this session earned.
    pub(crate) new_badges: Vec<String>,
}

/// Returns `team`, `personal` or `none`: the first part of the id.
pub(crate) fn project_kind(project_id: &str) -> &str {
    project_id
        .split_once('_')
        .map_or(project_id, |(kind, _)| kind)
}

/// Distinguishes a field that is null from one that is absent.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

pub(super) fn check_note(text: Option<String>) -> Result<String, Error> {
    let text = text.unwrap_or_default();
    if text.chars().count() > NOTE_CHARS {
        return Err(Error::invalid("note must have at most 2000 characters"));
    }
    Ok(text)
}

/// Checks the field `quality_rating`.
pub(super) fn check_rating(rating: Option<i32>) -> Result<(), Error> {
    if rating.is_some_and(|rating| !(1..=5).contains(&rating)) {
        return Err(Error::invalid("quality_rating must be 1 to 5"));
    }
    Ok(())
}

/// Trims tags, and removes repeated ones.
pub(super) fn check_tags(given: Vec<String>) -> Result<Vec<String>, Error> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given.iter().map(|tag| tag.trim()) {
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    let fits = |tag: &String| (1..=TAG_CHARS).contains(&tag.chars().count());
    if given.len() > MAX_TAGS || !tags.iter().all(fits) {
        return Err(Error::invalid(
            "tags must be at most 10 of 1 to 32 characters each",
        ));
    }
    if !tags.iter().all(|tag| is_readable(tag)) {
        return Err(Error::invalid(format!("tags must each {READABLE}")));
    }
    Ok(tags)
}

fn parse_time(field: &'static str, text: Option<&str>) -> Result<NaiveDateTime, Error> {
    let text = text.ok_or_else(|| Error::invalid(format!("{field} is required")))?;
    parse_instant(text)
        .ok_or_else(|| Error::invalid(format!("{field} must be an ISO 8601 time with an offset")))
}
