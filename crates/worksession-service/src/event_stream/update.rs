use std::cmp::max;

use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use event_types::SessionUser;
use serde::Serialize;

use super::queries::UpdateRow;
use super::wire::{PointsEvent, TeamEvent, TeamProject, TimerEvent};
use crate::error::Error;
use crate::sessions::SessionStatus;
use crate::sessions::record::RecordRow;

/// The result of one read of the database.
#[derive(Debug)]
pub(super) enum UpdateBatch {
    /// In the order in which the changes happened.
    Changes {
        /// Where a client that received only a part of the batch resumes.
        before: NaiveDateTime,
        changes: Vec<SessionUpdate>,
    },
    /// Too many changes to send. Clients must call `GET /api/sync/status`.
    TooMuch,
}

impl UpdateBatch {
    /// Whether there is nothing to send.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Changes { changes, .. } if changes.is_empty())
    }
}

/// A changed session, with the data of its events serialized once for all streams.
#[derive(Debug)]
pub(super) struct SessionUpdate {
    pub(super) user: UserId,
    pub(super) team: Option<TeamId>,
    /// The event `timer`, for the session's user.
    pub(super) timer: String,
    /// The event `points`, for the session's user after a submit.
    pub(super) points: Option<String>,
    /// The event `team`, for members of the session's team after its start or end.
    pub(super) team_event: Option<String>,
}

impl SessionUpdate {
    /// Creates the events of a session. `last_status` is its status in the last events, if it also changed a moment ago.
    /// Otherwise whatever happened after `since` is new.
    pub(super) fn new(
        row: UpdateRow,
        last_status: Option<SessionStatus>,
        since: NaiveDateTime,
    ) -> Result<Self, Error> {
        let is_new = has_new_status(&row.session, last_status, since);
        let points = row
            .submit_result
            .as_deref()
            .filter(|_| is_new && row.session.status.is_executed())
            .map(|response| {
                json(&serde_json::from_str::<PointsEvent>(response).map_err(Error::internal)?)
            });
        let team_event = row.team_id.filter(|_| is_new).map(|team_id| {
            json(&TeamEvent {
                session_id: row.session.session_id.clone(),
                user: SessionUser {
                    id: row.user_id,
                    username: row.username,
                },
                project: TeamProject {
                    id: row.session.project_id.clone(),
                    name: row.session.project_name.clone(),
                    team_id,
                    team_name: row.team_name.unwrap_or_default(),
                },
                category: row.session.category.clone(),
                planned_duration: row.session.planned_duration,
                status: row.session.status,
                started_at: row.session.started_at.and_utc(),
                expected_end_at: row.session.expected_end_at.and_utc(),
            })
        });
        Ok(Self {
            user: row.user_id,
            team: row.team_id,
            points: points.transpose()?,
            team_event: team_event.transpose()?,
            timer: json(&TimerEvent {
                session: row.session.into(),
            })?,
        })
    }
}

/// Whether the session started, ended or was submitted, rather than was edited. Without a last status its times decide.
/// A session that the sweeper marks as abandoned has no such time.
fn has_new_status(session: &RecordRow, last: Option<SessionStatus>, since: NaiveDateTime) -> bool {
    if let Some(last) = last {
        return last != session.status;
    }
    let changed_at = max(
        session.started_at,
        max(session.ended_at, session.submitted_at).unwrap_or_default(),
    );
    let is_abandoned = session.status == SessionStatus::Abandoned && session.submitted_at.is_none();
    changed_at > since || is_abandoned
}

fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::internal)
}
