use std::sync::Arc;

use db_kit::{Db, outbox};
use event_types::ChatTestRequested;
use secrecy::ExposeSecret;
use service_kit::http::{Json, RequestId};

use super::model::ChatRow;
use super::provider::Settings;
use super::wire::{ChatResponse, PutChatRequest};
use super::{provider, queries, revisions};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::hooks::{self, ChangedIntegration, Integration, IntegrationCreator, OFF, contacts};
use crate::projects::TeamProjectId;
use crate::state::{AppState, State};
use crate::team_projects::{get_as_manager, get_as_member};

pub(super) async fn get(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
) -> Result<ChatResponse, Error> {
    let look = move |db: &mut Db| {
        let project = get_as_member(db, id, &caller)?;
        answer(db, id, project.chat_channel)
    };
    state.pool.read(look).await
}

pub(super) async fn put(
    state: &State,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request: Json<PutChatRequest>,
    request_id: RequestId,
) -> Result<ChatResponse, Error> {
    let request = request.into_inner().map_err(Error::from);
    let settings = request.and_then(|request| provider::read(request, &state.guard));
    let change = configure(state, Arc::clone(&caller), id, Some(settings), request_id);
    hooks::commit(state, &caller, change).await
}

/// Activates a paused chat as the caller's. A chat that is not paused stays as it is.
pub(super) async fn adopt(
    state: &State,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request_id: RequestId,
) -> Result<ChatResponse, Error> {
    let (sealers, now, by) = (
        state.sealers.clone(),
        state.clock.now(),
        Arc::clone(&caller),
    );
    let change = move |db: &mut Db| {
        let project = get_as_manager(db, id, &by)?;
        let adopted = queries::adopt(db, id, &IntegrationCreator::of(&by), now.naive_utc())?;
        let Some((revision, sealed)) = adopted else {
            return Ok((answer(db, id, project.chat_channel)?, None));
        };
        let (integration, team) = (Integration::Chat(id), Some(project.team_id));
        let plain = integration.open(&sealers, revision - 1, sealed.as_deref())?;
        let sealed = integration.seal(&sealers, revision, plain.expose_secret())?;
        contacts::keep(db, &sealers, integration, team, &by)?;
        revisions::store(db, id, revision, Some(sealed), now, Some(&request_id))?;
        let changed = Some((integration, team));
        Ok((answer(db, id, project.chat_channel)?, changed))
    };
    hooks::commit(state, &caller, change).await
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
    state.limit_calls_by_hand(caller.id)?;
    let now = state.clock.now();
    let ask = move |db: &mut Db| {
        let project = get_as_manager(db, id, &caller)?;
        allow_change(db, id, &caller)?;
        let test_id = outbox::uuid_v7(now);
        let revision = queries::begin_test(db, id, test_id, now.naive_utc())?;
        let event = ChatTestRequested {
            test_id,
            project_id: id.get(),
            project_name: project.name,
            revision: revision.ok_or(Error::NoChat)?,
            requested_by: caller.username.clone(),
            channel: project.chat_channel.clone(),
        };
        events::enqueue(db, now, Some(&request_id), &event)?;
        answer(db, id, project.chat_channel)
    };
    let waiting = state.pool.write_tx(ask).await?;
    state.relay.wake();
    Ok(waiting)
}

/// Returns the change of a chat, which also enqueues its event for the notifier.
fn configure(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    settings: Option<Result<Settings, Error>>,
    request_id: RequestId,
) -> impl FnOnce(&mut Db) -> Result<(ChatResponse, Option<ChangedIntegration>), Error> + Send + 'static
{
    let sealers = state.sealers.clone();
    let now = state.clock.now();
    move |db| {
        // Authorization comes before the body.
        let project = get_as_manager(db, id, &caller)?;
        allow_change(db, id, &caller)?;
        let settings = settings.transpose()?;
        let maker = match settings {
            Some(_) => IntegrationCreator::of(&caller),
            None => IntegrationCreator::default(),
        };
        let revision = queries::put(db, id, settings.as_ref(), &maker, now.naive_utc())?;
        let (integration, team) = (Integration::Chat(id), Some(project.team_id));
        let seal = |settings: &Settings| {
            let plain = serde_json::to_vec(&settings.destination).map_err(Error::internal)?;
            integration.seal(&sealers, revision, &plain)
        };
        let sealed = settings.as_ref().map(seal).transpose()?;
        match sealed {
            Some(_) => contacts::keep(db, &sealers, integration, team, &caller)?,
            None => contacts::forget(db, integration)?,
        }
        revisions::store(db, id, revision, sealed, now, Some(&request_id))?;
        let changed = Some((integration, team));
        Ok((answer(db, id, project.chat_channel)?, changed))
    }
}

/// Locks the project. Refuses an OAuth client or SSO session that did not configure the existing chat itself.
fn allow_change(db: &mut Db, id: TeamProjectId, caller: &CurrentUser) -> Result<(), Error> {
    queries::hold(db, id)?;
    let there = queries::find(db, id)?.filter(|row| row.provider.is_some());
    match there {
        Some(row) if !row.maker.is_open_to(caller) => Err(Error::TeamProjectChangeForbidden),
        _ => Ok(()),
    }
}

fn answer(db: &mut Db, id: TeamProjectId, channel: String) -> Result<ChatResponse, Error> {
    let never_set = || ChatRow {
        status: OFF.to_owned(),
        ..ChatRow::default()
    };
    let row = queries::find(db, id)?.unwrap_or_else(never_set);
    Ok(ChatResponse::new(channel, row))
}
