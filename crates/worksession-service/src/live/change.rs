use std::cmp::max;

use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use serde::Serialize;

use super::queries::NewsRow;
use super::wire::{Earned, Member, TeamNews, TeamProject, Timer};
use crate::error::Error;
use crate::sessions::Status;
use crate::sessions::record::RecordRow;

/// What one look at the database gave.
#[derive(Debug)]
pub(super) enum Batch {
    /// In the order in which it happened.
    Changes {
        /// Where a client goes on that was told only a part of it.
        before: NaiveDateTime,
        changes: Vec<Change>,
    },
    /// So much that nobody is told of each: ask again.
    TooMuch,
}

impl Batch {
    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Changes { changes, .. } if changes.is_empty())
    }
}

/// A session that changed, with the data of its events, written once for all streams.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) user: UserId,
    pub(super) team: Option<TeamId>,
    /// For its user.
    pub(super) timer: String,
    /// For its user, after a submit.
    pub(super) points: Option<String>,
    /// For members of its team, when it started or ended.
    pub(super) news: Option<String>,
}

impl Change {
    /// `known` is the status that was told last, if the session changed a moment ago too; else what happened after
    /// `since` is new.
    pub(super) fn new(
        row: NewsRow,
        known: Option<Status>,
        since: NaiveDateTime,
    ) -> Result<Self, Error> {
        let moved = moved(&row.session, known, since);
        let submitted = matches!(row.session.status, Status::Completed | Status::Partial);
        let points = row
            .submit_result
            .as_deref()
            .filter(|_| moved && submitted)
            .map(|answer| json(&serde_json::from_str::<Earned>(answer).map_err(Error::internal)?));
        let news = row.team_id.filter(|_| moved).map(|team_id| {
            json(&TeamNews {
                session_id: row.session.session_id.clone(),
                user: Member {
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
            news: news.transpose()?,
            timer: json(&Timer {
                session: row.session.into(),
            })?,
        })
    }
}

/// Whether the session started, ended or was submitted, rather than was edited. Of one that is seen for the first time
/// its times tell; the sweeper's giving up alone carries none of its own.
fn moved(session: &RecordRow, known: Option<Status>, since: NaiveDateTime) -> bool {
    if let Some(known) = known {
        return known != session.status;
    }
    let last = max(
        session.started_at,
        max(session.ended_at, session.submitted_at).unwrap_or_default(),
    );
    let given_up = session.status == Status::Abandoned && session.submitted_at.is_none();
    last > since || given_up
}

fn json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::internal)
}
