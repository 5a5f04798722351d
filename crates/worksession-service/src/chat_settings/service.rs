use std::sync::Arc;

use auth_types::TeamId;
use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use diesel::QueryResult;
use event_types::{ChatDestination, ChatTarget, IntegrationConfigured};
use service_kit::http::RequestId;

use super::model::{ACTIVE, ChatRow};
use super::wire::{ChatResponse, PutChatRequest};
use super::{provider, queries};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::projects::TeamProjectId;
use crate::state::AppState;
use crate::team_projects::{get_as_manager, get_as_member};

/// Where the team of a project is told; none without a hook, or when it was switched off.
pub(crate) fn target(chat: ChatRow, channel: String) -> Option<ChatTarget> {
    let provider = chat.provider.filter(|_| chat.status == ACTIVE)?;
    Some(ChatTarget {
        provider,
        channel,
        revision: chat.revision,
    })
}

/// Takes away up to `limit` destinations of a team's projects, as a DELETE of each would, and says how
/// many there were.
pub(crate) fn take_away(
    db: &mut Db,
    team: TeamId,
    now: DateTime<Utc>,
    limit: i64,
) -> QueryResult<usize> {
    let projects = queries::of_team(db, team, limit)?;
    for project in &projects {
        let revision = queries::put(db, *project, None, now.naive_utc())?;
        tell(db, *project, revision, None, now, None)?;
    }
    Ok(projects.len())
}

pub(super) async fn get(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
) -> Result<ChatResponse, Error> {
    let look = move |db: &mut Db| {
        let project = get_as_member(db, id, &caller)?;
        Ok(ChatResponse::new(
            project.chat_channel,
            queries::find(db, id)?,
        ))
    };
    state.pool.read(look).await
}

pub(super) async fn put(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request: PutChatRequest,
    request_id: RequestId,
) -> Result<ChatResponse, Error> {
    let destination = provider::read(request, &state.guard);
    let change = configure(state, caller, id, Some(destination), request_id);
    let answer = state.pool.write_tx(change).await?;
    state.relay.wake();
    Ok(answer)
}

pub(super) async fn delete(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request_id: RequestId,
) -> Result<(), Error> {
    state
        .pool
        .write_tx(configure(state, caller, id, None, request_id))
        .await?;
    state.relay.wake();
    Ok(())
}

/// The change of a destination and, in the same transaction, the event that tells the notifier of it.
fn configure(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    destination: Option<Result<ChatDestination, Error>>,
    request_id: RequestId,
) -> impl FnOnce(&mut Db) -> Result<ChatResponse, Error> + Send + 'static {
    let sealer = state.sealer.clone();
    let now = state.clock.now();
    move |db| {
        // The right comes before the body.
        let project = get_as_manager(db, id, &caller)?;
        let destination = destination.transpose()?;
        let provider = destination.as_ref().map(|to| to.provider.as_str());
        let revision = queries::put(db, id, provider, now.naive_utc())?;
        let seal = |to: &ChatDestination| {
            let plain = serde_json::to_vec(to).map_err(Error::internal)?;
            let context = IntegrationConfigured::seal_context(id.get(), revision);
            sealer.seal(&context, &plain).map_err(Error::internal)
        };
        let sealed = destination.as_ref().map(seal).transpose()?;
        tell(db, id, revision, sealed, now, Some(&request_id))?;
        Ok(ChatResponse::new(
            project.chat_channel,
            queries::find(db, id)?,
        ))
    }
}

/// The event that tells the notifier of a destination, or that there is none any more.
fn tell(
    db: &mut Db,
    project: TeamProjectId,
    revision: i64,
    sealed: Option<String>,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> QueryResult<()> {
    let event = IntegrationConfigured {
        project_id: project.get(),
        revision,
        sealed,
    };
    outbox::insert(db, &events::outbox_row(now, request_id, &event)?)
}
