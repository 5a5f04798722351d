use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::start_range::StartRange;
use crate::error::Error;
use crate::pagination::{SessionCursor, page_size};
use crate::projects::ProjectRef;
use crate::sessions::model::SessionStatus;
use crate::sessions::record::{RecordRow, SessionRecord};

/// Which sessions to list. An empty parameter counts as absent.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionListQuery {
    /// `running`, `awaiting_submit`, `completed`, `partial`, `abandoned`, or several of them separated by commas.
    status: Option<String>,
    /// `team_N`, `personal_N` or `none`.
    project_id: Option<String>,
    /// The exact category of the plan.
    category: Option<String>,
    /// An exact tag.
    tag: Option<String>,
    /// The earliest start: a date (YYYY-MM-DD) in the user's time zone, or an RFC 3339 time.
    from: Option<String>,
    /// The latest start: a date (YYYY-MM-DD, inclusive) in the user's time zone, or an RFC 3339 time.
    to: Option<String>,
    /// 1 to 200 sessions; 50 by default.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// A validated [`SessionListQuery`].
#[derive(Debug)]
pub(crate) struct SessionFilter {
    /// None for all.
    pub(crate) statuses: Option<Vec<SessionStatus>>,
    pub(crate) project: Option<ProjectRef>,
    pub(crate) category: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) range: StartRange,
    pub(crate) limit: i32,
    pub(crate) after: Option<SessionCursor>,
}

impl TryFrom<SessionListQuery> for SessionFilter {
    type Error = Error;

    fn try_from(query: SessionListQuery) -> Result<Self, Error> {
        let non_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
        let project = non_empty(query.project_id).map(|text| {
            text.parse()
                .map_err(|_: Error| Error::invalid("project_id must be team_N, personal_N or none"))
        });
        Ok(Self {
            statuses: non_empty(query.status)
                .as_deref()
                .map(parse_statuses)
                .transpose()?,
            project: project.transpose()?,
            category: non_empty(query.category),
            tag: non_empty(query.tag),
            range: StartRange::parse(query.from.as_deref(), query.to.as_deref())?,
            limit: page_size(query.limit)?,
            after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        })
    }
}

fn parse_statuses(text: &str) -> Result<Vec<SessionStatus>, Error> {
    let parse = |name: &str| {
        SessionStatus::from_name(name).ok_or_else(|| {
            let names = SessionStatus::ALL.map(SessionStatus::as_str).join(", ");
            Error::invalid(format!("status must be of {names}"))
        })
    };
    text.split(',').map(parse).collect()
}

/// A page of sessions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionsResponse {
    success: bool,
    sessions: Vec<SessionRecord>,
    /// Where the next page begins; null on the last one. With a filter, a page may hold fewer sessions than `limit`,
    /// or none, and still have a cursor.
    next_cursor: Option<String>,
}

impl SessionsResponse {
    pub(super) fn new(rows: Vec<RecordRow>, next: Option<&SessionCursor>) -> Self {
        Self {
            success: true,
            sessions: rows.into_iter().map(Into::into).collect(),
            next_cursor: next.map(ToString::to_string),
        }
    }
}

/// One session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionResponse {
    success: bool,
    session: SessionRecord,
}

impl From<RecordRow> for SessionResponse {
    fn from(row: RecordRow) -> Self {
        Self {
            success: true,
            session: row.into(),
        }
    }
}
