use chrono::{DateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use event_types::{
    ChatTarget, SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted, SessionUser,
};
use service_kit::http::RequestId;
use uuid::Uuid;

use super::model::SessionRow;
use super::wire::{SubmitResponse, project_kind};
use crate::error::Error;
use crate::events::outbox_row;

pub(super) fn build_started(
    row: &SessionRow,
    request_id: &RequestId,
) -> Result<NewOutboxRow, Error> {
    let data = SessionStarted {
        session_id: id(row)?,
        user: user(row),
        project: project(row),
        category: row.category.clone(),
        planned_duration: row.planned_duration,
        planning_note: row.planning_note.clone(),
        started_at: row.started_at.and_utc(),
        expected_end_at: row.expected_end_at.and_utc(),
        client: row.client.clone(),
        chat: chat(row)?,
    };
    Ok(outbox_row(
        row.started_at.and_utc(),
        Some(request_id),
        &data,
    )?)
}

/// Returns the outbox row of `session.submitted.v1`.
pub(crate) fn build_submitted(
    row: &SessionRow,
    result: &SubmitResponse,
    streak: i32,
    now: DateTime<Utc>,
    request_id: &RequestId,
) -> Result<NewOutboxRow, Error> {
    let data = SessionSubmitted {
        session_id: id(row)?,
        user: user(row),
        project: project(row),
        category: row.category.clone(),
        planned_duration: row.planned_duration,
        started_at: row.started_at.and_utc(),
        expected_end_at: row.expected_end_at.and_utc(),
        client: row.client.clone(),
        chat: chat(row)?,
        status: result.status.as_str().to_owned(),
        credited_minutes: result.credited_minutes,
        points_awarded: result.points_awarded.as_number(),
        streak,
        submitted_at: now,
    };
    Ok(outbox_row(now, Some(request_id), &data)?)
}

/// Returns the outbox row of `session.abandoned.v1`.
pub(crate) fn build_abandoned(row: &SessionRow, now: DateTime<Utc>) -> Result<NewOutboxRow, Error> {
    let data = SessionAbandoned {
        session_id: id(row)?,
        user: user(row),
        project: project(row),
        category: row.category.clone(),
        planned_duration: row.planned_duration,
        started_at: row.started_at.and_utc(),
        expected_end_at: row.expected_end_at.and_utc(),
        client: row.client.clone(),
        chat: chat(row)?,
        reason: "not_submitted".to_owned(),
    };
    Ok(outbox_row(now, None, &data)?)
}

fn id(row: &SessionRow) -> Result<Uuid, Error> {
    row.session_id.parse().map_err(Error::internal)
}

fn user(row: &SessionRow) -> SessionUser {
    SessionUser {
        id: row.user_id,
        username: row.username.clone(),
    }
}

fn project(row: &SessionRow) -> SessionProject {
    SessionProject {
        id: row.project_id.clone(),
        name: row.project_name.clone(),
        kind: project_kind(&row.project_id).to_owned(),
        team_id: row.team_id,
        team_name: row.team_name.clone(),
    }
}

fn chat(row: &SessionRow) -> Result<Option<ChatTarget>, Error> {
    row.chat
        .as_deref()
        .map(serde_json::from_str)
        .transpose()
        .map_err(Error::internal)
}
