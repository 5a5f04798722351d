use std::sync::Arc;

use auth_types::TeamId;
use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use diesel::QueryResult;
use event_types::{ChatTestRequested, IntegrationConfigured, MailText};
use secrecy::ExposeSecret;
use service_kit::http::{Json, RequestId};

use super::provider::Settings;
use super::wire::{ChatResponse, PutChatRequest};
use super::{provider, queries};
use crate::auth::CurrentUser;
use crate::contacts::{self, Hook};
use crate::error::Error;
use crate::events;
use crate::makers::{self, Changed, Maker};
use crate::projects::TeamProjectId;
use crate::state::{AppState, State};
use crate::team_projects::{self, get_as_manager, get_as_member};

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
        let revision = queries::put(db, *project, None, &Maker::default(), now.naive_utc())?;
        contacts::forget(db, Hook::Chat(*project))?;
        tell(db, *project, revision, None, now, None)?;
    }
    Ok(projects.len())
}

/// Switches a destination off that refuses us for good, unless a newer one has taken its place, and has whoever
/// set it told.
pub(crate) fn switch_off(
    db: &mut Db,
    state: &AppState,
    id: TeamProjectId,
    revision: i64,
    reason: String,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let provider = queries::switch_off(db, id, revision, &reason, now.naive_utc())?;
    let (Some(provider), Some(project)) = (provider, team_projects::queries::find(db, id)?) else {
        return Ok(());
    };
    contacts::tell(db, &state.sealers, Hook::Chat(id), now, |username| {
        MailText::ChatSwitchedOff {
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
    makers::commit(state, &caller, change).await
}

/// Puts a paused chat into use as the caller's who keeps it; any other is left as it is.
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
        let adopted = queries::adopt(db, id, &Maker::of(&by), now.naive_utc())?;
        let changed = adopted
            .is_some()
            .then_some((Hook::Chat(id), Some(project.team_id)));
        if let Some((revision, sealed)) = adopted {
            let context = |revision| IntegrationConfigured::seal_context(id.get(), revision);
            let sealed = sealed.unwrap_or_default();
            let plain = sealers.chats.open(&context(revision - 1), &sealed);
            let plain = plain.map_err(Error::internal)?;
            let sealed = sealers
                .chats
                .seal(&context(revision), plain.expose_secret());
            let sealed = Some(sealed.map_err(Error::internal)?);
            contacts::keep(db, &sealers, Hook::Chat(id), Some(project.team_id), &by)?;
            tell(db, id, revision, sealed, now, Some(&request_id))?;
        }
        Ok::<_, Error>((answer(db, id, project.chat_channel)?, changed))
    };
    makers::commit(state, &caller, change).await
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

/// Has the notifier post a test message; what becomes of it is shown by [`get`].
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
        outbox::insert(db, &events::outbox_row(now, Some(&request_id), &event)?)?;
        answer(db, id, project.chat_channel)
    };
    let waiting = state.pool.write_tx(ask).await?;
    state.relay.wake();
    Ok(waiting)
}

/// The change of a destination and, in the same transaction, the event that tells the notifier of it.
fn configure(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    settings: Option<Result<Settings, Error>>,
    request_id: RequestId,
) -> impl FnOnce(&mut Db) -> Result<(ChatResponse, Option<Changed>), Error> + Send + 'static {
    let sealers = state.sealers.clone();
    let now = state.clock.now();
    move |db| {
        // The right comes before the body.
        let project = get_as_manager(db, id, &caller)?;
        allow_change(db, id, &caller)?;
        let settings = settings.transpose()?;
        let maker = match settings {
            Some(_) => Maker::of(&caller),
            None => Maker::default(),
        };
        let revision = queries::put(db, id, settings.as_ref(), &maker, now.naive_utc())?;
        let seal = |settings: &Settings| {
            let plain = serde_json::to_vec(&settings.destination).map_err(Error::internal)?;
            let context = IntegrationConfigured::seal_context(id.get(), revision);
            let sealed = sealers.chats.seal(&context, &plain);
            sealed.map_err(Error::internal)
        };
        let sealed = settings.as_ref().map(seal).transpose()?;
        match sealed {
            Some(_) => {
                contacts::keep(db, &sealers, Hook::Chat(id), Some(project.team_id), &caller)?
            }
            None => contacts::forget(db, Hook::Chat(id))?,
        }
        tell(db, id, revision, sealed, now, Some(&request_id))?;
        let changed = (Hook::Chat(id), Some(project.team_id));
        Ok((answer(db, id, project.chat_channel)?, Some(changed)))
    }
}

/// Of those who manage the project, a client may change the chat that there is only if it made it.
fn allow_change(db: &mut Db, id: TeamProjectId, caller: &CurrentUser) -> Result<(), Error> {
    match queries::hold_maker(db, id)? {
        Some(maker) if !maker.is_open_to(caller) => Err(Error::TeamProjectChangeForbidden),
        _ => Ok(()),
    }
}

fn answer(db: &mut Db, id: TeamProjectId, channel: String) -> Result<ChatResponse, Error> {
    let (row, test) = (queries::find(db, id)?, queries::find_test(db, id)?);
    let maker = queries::find_maker(db, id)?.unwrap_or_default();
    Ok(ChatResponse::new(channel, row, test, maker))
}

/// Keeps the address, and tells the notifier of a destination, or that there is none any more.
fn tell(
    db: &mut Db,
    project: TeamProjectId,
    revision: i64,
    sealed: Option<String>,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> QueryResult<()> {
    queries::keep_sealed(db, project, sealed.as_deref())?;
    let event = IntegrationConfigured {
        project_id: project.get(),
        revision,
        sealed,
        paused: false,
    };
    outbox::insert(db, &events::outbox_row(now, request_id, &event)?)
}
