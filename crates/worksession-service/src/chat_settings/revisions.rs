//! The revisions of a chat. Each sets or removes its address, and an event reports it to the notifier.

use auth_types::TeamId;
use chrono::{DateTime, Utc};
use db_kit::Db;
use diesel::QueryResult;
use event_types::MailTemplate;
use service_kit::http::RequestId;

use super::queries;
use crate::app_state::AppState;
use crate::error::Error;
use crate::integrations::{Integration, IntegrationCreator, RevisionTarget, contacts};
use crate::projects::TeamProjectId;
use crate::team_projects;

/// Stores the address of the chat's newest revision, or none, and enqueues it for the notifier.
pub(super) fn store(
    db: &mut Db,
    project: TeamProjectId,
    revision: i64,
    sealed: Option<String>,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> QueryResult<()> {
    queries::update_sealed(db, project, sealed.as_deref())?;
    let target = sealed.map_or(RevisionTarget::Removed, RevisionTarget::Sealed);
    Integration::Chat(project).enqueue_revision(db, revision, target, now, request_id)
}

/// Removes up to `limit` chats of a team's projects, as a DELETE of each would, and returns their number.
pub(crate) fn remove_for_team(
    db: &mut Db,
    team: TeamId,
    now: DateTime<Utc>,
    limit: i64,
) -> QueryResult<usize> {
    let projects = queries::list(db, team, limit)?;
    for project in &projects {
        let revision = queries::upsert(
            db,
            *project,
            None,
            &IntegrationCreator::default(),
            now.naive_utc(),
        )?;
        contacts::delete(db, Integration::Chat(*project))?;
        store(db, *project, revision, None, now, None)?;
    }
    Ok(projects.len())
}

/// Disables a chat that permanently rejects messages, unless there is a newer revision, and requests a mail to the
/// person who configured it.
pub(crate) fn disable(
    db: &mut Db,
    state: &AppState,
    id: TeamProjectId,
    revision: i64,
    reason: String,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let provider = queries::disable(db, id, revision, &reason, now.naive_utc())?;
    let (Some(provider), Some(project)) = (provider, team_projects::queries::find(db, id)?) else {
        return Ok(());
    };
    contacts::enqueue_creator_mail(db, &state.sealers, Integration::Chat(id), now, |username| {
        MailTemplate::ChatSwitchedOff {
            username,
            project_id: id.get(),
            project: project.name,
            team: project.team_name,
            provider,
            reason,
            at: now,
            link: state.page("/docs/"),
        }
    })
}
