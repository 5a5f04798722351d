use std::sync::Arc;

use db_kit::{Db, outbox};
use event_types::ChatTestRequested;
use secrecy::ExposeSecret;
use service_kit::http::{Json, RequestId};

use super::model::ChatRow;
use super::settings::ChatSettings;
use super::wire::{ChatResponse, PutChatRequest};
use super::{queries, revisions, settings};
use crate::app_state::{AppState, State};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::integrations::{
    self, ChangedIntegration, DISABLED, Integration, IntegrationCreator, contacts,
};
use crate::projects::TeamProjectId;
use crate::team_projects::{get_as_manager, get_as_member};

pub(super) async fn get(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
) -> Result<ChatResponse, Error> {
    let load = move |db: &mut Db| {
        let project = get_as_member(db, id, &caller)?;
        respond(db, id, project.chat_channel)
    };
    state.pool.read(load).await
}

pub(super) async fn put(
    state: &State,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request: Json<PutChatRequest>,
    request_id: RequestId,
) -> Result<ChatResponse, Error> {
    let request = request.into_inner().map_err(Error::from);
    let settings = request.and_then(|request| settings::parse(request, &state.guard));
    let change = configure(state, Arc::clone(&caller), id, Some(settings), request_id);
    integrations::commit_change(state, &caller, change).await
}

/// Activates a paused chat as the caller's. A chat that is not paused stays as it is.
pub(super) async fn adopt(
    state: &State,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request_id: RequestId,
) -> Result<ChatResponse, Error> {
    let (sealers, now) = (state.sealers.clone(), state.clock.now());
    let by = Arc::clone(&caller);
    let change = move |db: &mut Db| {
        let project = get_as_manager(db, id, &by)?;
        let adopted = queries::adopt(db, id, &IntegrationCreator::new(&by), now.naive_utc())?;
        let Some((revision, sealed)) = adopted else {
            return Ok((respond(db, id, project.chat_channel)?, None));
        };
        let (integration, team) = (Integration::Chat(id), Some(project.team_id));
        let plain = integration.open(&sealers, revision - 1, sealed.as_deref())?;
        let sealed = integration.seal(&sealers, revision, plain.expose_secret())?;
        contacts::store(db, &sealers, integration, team, &by)?;
        revisions::store(db, id, revision, Some(sealed), now, Some(&request_id))?;
        let changed = Some((integration, team));
        Ok((respond(db, id, project.chat_channel)?, changed))
    };
    integrations::commit_change(state, &caller, change).await
}

pub(super) async fn delete(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request_id: RequestId,
) -> Result<(), Error> {
    let change = configure(state, caller, id, None, request_id);
    state.pool.write_tx(change).await?;
    state.relay.wake();
    Ok(())
}

/// Requests a test message from the notifier. [`get`] shows its outcome.
pub(super) async fn test(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request_id: RequestId,
) -> Result<ChatResponse, Error> {
    state.limit_requested_calls(caller.id)?;
    let now = state.clock.now();
    let request = move |db: &mut Db| {
        let project = get_as_manager(db, id, &caller)?;
        check_change(db, id, &caller)?;
        let test_id = outbox::uuid_v7(now);
        let revision = queries::record_test_start(db, id, test_id, now.naive_utc())?;
        let event = ChatTestRequested {
            test_id,
            project_id: id.get(),
            project_name: project.name,
            revision: revision.ok_or(Error::NoChat)?,
            requested_by: caller.username.clone(),
            channel: project.chat_channel.clone(),
        };
        events::enqueue(db, now, Some(&request_id), &event)?;
        respond(db, id, project.chat_channel)
    };
    let pending = state.pool.write_tx(request).await?;
    state.relay.wake();
    Ok(pending)
}

/// Returns the change of a chat, which also enqueues its event for the notifier.
fn configure(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    settings: Option<Result<ChatSettings, Error>>,
    request_id: RequestId,
) -> impl FnOnce(&mut Db) -> Result<(ChatResponse, Option<ChangedIntegration>), Error> + Send + 'static
{
    let sealers = state.sealers.clone();
    let now = state.clock.now();
    move |db| {
        // Authorization comes before the body.
        let project = get_as_manager(db, id, &caller)?;
        check_change(db, id, &caller)?;
        let settings = settings.transpose()?;
        let creator = match settings {
            Some(_) => IntegrationCreator::new(&caller),
            None => IntegrationCreator::default(),
        };
        let revision = queries::upsert(db, id, settings.as_ref(), &creator, now.naive_utc())?;
        let (integration, team) = (Integration::Chat(id), Some(project.team_id));
        let seal = |settings: &ChatSettings| {
            let plain = serde_json::to_vec(&settings.destination).map_err(Error::internal)?;
            integration.seal(&sealers, revision, &plain)
        };
        let sealed = settings.as_ref().map(seal).transpose()?;
        match sealed {
            Some(_) => contacts::store(db, &sealers, integration, team, &caller)?,
            None => contacts::delete(db, integration)?,
        }
        revisions::store(db, id, revision, sealed, now, Some(&request_id))?;
        let changed = Some((integration, team));
        Ok((respond(db, id, project.chat_channel)?, changed))
    }
}

/// Locks the project. Refuses an OAuth client or SSO session that did not configure the existing chat itself.
fn check_change(db: &mut Db, id: TeamProjectId, caller: &CurrentUser) -> Result<(), Error> {
    queries::lock_project(db, id)?;
    let existing = queries::find(db, id)?.filter(|row| row.provider.is_some());
    match existing {
        Some(row) if !row.creator.is_open_to(caller) => Err(Error::TeamProjectChangeForbidden),
        _ => Ok(()),
    }
}

fn respond(db: &mut Db, id: TeamProjectId, channel: String) -> Result<ChatResponse, Error> {
    let default_row = || ChatRow {
        status: DISABLED.to_owned(),
        ..ChatRow::default()
    };
    let row = queries::find(db, id)?.unwrap_or_else(default_row);
    Ok(ChatResponse::new(channel, row))
}
