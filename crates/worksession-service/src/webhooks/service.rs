use std::sync::Arc;

use auth_types::{TeamId, TeamRole, UserId};
use chrono::{DateTime, Utc};
use db_kit::{Db, is_unique_violation, outbox};
use event_types::{MailText, WebhookConfigured, WebhookDisabled, WebhookTarget};
use service_kit::http::{Json, RequestId};

use super::model::{ACTIVE, EVENTS, MOST, OFF, Owner, WebhookId, WebhookRow};
use super::queries::{self, NewWebhook};
use super::wire::{
    CreateWebhookRequest, UpdateWebhookRequest, WebhookResponse, WebhookSecretResponse,
    WebhooksResponse, read_description, read_events,
};
use super::{deliveries, target};
use crate::auth::{CurrentUser, Scope, Teams};
use crate::contacts::{self, Hook};
use crate::error::Error;
use crate::events;
use crate::makers::{self, Maker, PAUSED};
use crate::sealers::Sealers;
use crate::state::{AppState, State};

/// Switches a webhook off whose receiver is gone, unless it has changed since, and has whoever set it told.
pub(crate) fn switch_off(
    db: &mut Db,
    state: &AppState,
    off: WebhookDisabled,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let Some(id) = WebhookId::new(off.webhook_id) else {
        return Ok(());
    };
    let switched = queries::switch_off(db, id, off.revision, &off.reason, now.naive_utc())?;
    let Some(webhook) = switched else {
        return Ok(());
    };
    contacts::tell(db, &state.sealers, Hook::Webhook(id), now, |username| {
        MailText::WebhookSwitchedOff {
            username,
            webhook_id: off.webhook_id,
            description: webhook.description,
            origin: webhook.origin,
            reason: off.reason,
            at: now,
            link: state.page("/docs/"),
        }
    })
}

pub(super) async fn list(
    state: &AppState,
    caller: &CurrentUser,
) -> Result<WebhooksResponse, Error> {
    let sees_teams = Teams::is_held_by(caller);
    let managed =
        |team: &&auth_types::wire::TeamMembership| sees_teams && team.role >= TeamRole::Admin;
    let teams: Vec<TeamId> = caller
        .teams
        .iter()
        .filter(managed)
        .map(|team| team.id)
        .collect();
    let user = caller.id;
    let rows = state
        .pool
        .read::<_, Error, _>(move |db| Ok(queries::list(db, user, &teams)?));
    let mut rows = rows.await?;
    rows.retain(|row| row.maker.is_open_to(caller));
    Ok(rows.into())
}

pub(super) async fn create(
    state: &State,
    caller: Arc<CurrentUser>,
    request: CreateWebhookRequest,
    request_id: RequestId,
) -> Result<WebhookSecretResponse, Error> {
    // The right comes before the rest of the body.
    let owner = match request.team_id {
        None => Owner::User(caller.id),
        Some(team) => Owner::Team(team),
    };
    allow(owner, &caller).map_err(|refusal| match refusal {
        Error::WebhookNotFound => Error::TeamNotFound,
        other => other,
    })?;
    let address = request
        .url
        .ok_or_else(|| Error::invalid("url is required"))?;
    let url = target::read_url(&address, &state.guard)?;
    let now = state.clock.now();
    let (user_id, team_id) = owner.columns();
    let maker = Maker::of(&caller);
    let new = Arc::new(NewWebhook {
        user_id,
        team_id,
        description: read_description(request.description.as_deref().unwrap_or_default())?,
        origin: target::origin(&url),
        events: match &request.events {
            Some(events) => read_events(events)?,
            None => EVENTS.join(" "),
        },
        now: now.naive_utc(),
        created_by: maker.created_by.map(UserId::get),
        client_id: maker.client_id,
        session_id: maker.session_id,
    });
    let secret = target::new_secret();
    let goes_to = Arc::new(WebhookTarget {
        url: url.into(),
        secrets: vec![secret.clone()],
    });
    let row = insert(state, &caller, &new, &goes_to, now, &request_id).await?;
    Ok(WebhookSecretResponse::new(row, secret.secret))
}

/// Of several that take a place at once one gets it; the others take the next.
async fn insert(
    state: &State,
    caller: &Arc<CurrentUser>,
    new: &Arc<NewWebhook>,
    goes_to: &Arc<WebhookTarget>,
    now: DateTime<Utc>,
    request_id: &RequestId,
) -> Result<WebhookRow, Error> {
    // One more than there are places: each try that fails has seen one of them taken.
    for _ in 0..=MOST {
        let (by, new, goes_to) = (Arc::clone(caller), Arc::clone(new), Arc::clone(goes_to));
        let (sealers, request_id) = (state.sealers.clone(), request_id.clone());
        let stored = makers::commit(state, caller, move |db| {
            let id = queries::insert(db, &new)?.ok_or(Error::TooManyWebhooks)?;
            let mut row = queries::find(db, id)?.ok_or(Error::WebhookNotFound)?;
            row.sealed = Some(target::seal(&sealers, id.get(), row.revision, &goes_to)?);
            keep(db, &row, now, Some(&request_id))?;
            contacts::keep(db, &sealers, Hook::Webhook(id), row.team_id, &by)?;
            let changed = (Hook::Webhook(id), row.team_id);
            Ok((row, Some(changed)))
        });
        match stored.await {
            Err(Error::Db(cause)) if is_place_taken(&cause) => {}
            other => return other,
        }
    }
    Err(Error::TooManyWebhooks)
}

fn is_place_taken(cause: &db_kit::DbError) -> bool {
    ["user_id", "team_id"]
        .into_iter()
        .any(|owner| is_unique_violation(cause, "webhooks", &[owner, "slot"]))
}

pub(super) async fn get(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
) -> Result<WebhookResponse, Error> {
    let look = move |db: &mut Db| managed(queries::find(db, id)?, &caller);
    Ok(state.pool.read(look).await?.into())
}

pub(super) async fn update(
    state: &State,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request: Json<UpdateWebhookRequest>,
    request_id: RequestId,
) -> Result<WebhookResponse, Error> {
    let (sealers, guard, now) = (
        state.sealers.clone(),
        state.guard.clone(),
        state.clock.now(),
    );
    let by = Arc::clone(&caller);
    let change = move |db: &mut Db| {
        // The right comes before the body.
        let mut row = managed(queries::lock(db, id)?, &by)?;
        let request = request.into_inner()?;
        let mut goes_to = target::open(&sealers, &row)?;
        if let Some(address) = &request.url {
            let url = target::read_url(address, &guard)?;
            row.origin = target::origin(&url);
            goes_to.url = url.into();
        }
        if let Some(events) = &request.events {
            row.events = read_events(events)?;
        }
        if let Some(description) = &request.description {
            row.description = read_description(description)?;
        }
        let changed = (Hook::Webhook(id), row.team_id);
        if request.url.is_some() {
            row.maker = Maker::of(&by);
        }
        // A paused one stays so, whatever else is changed: where its calls go is up to what made it.
        if request.url.is_some() || row.status == OFF {
            put_into_use(&mut row);
        }
        store(db, &sealers, &mut row, goes_to, (&by, now), &request_id)?;
        Ok((row, Some(changed)))
    };
    let row = makers::commit(state, &caller, change).await?;
    Ok(row.into())
}

/// Puts a paused webhook into use as the caller's who keeps it; any other is left as it is.
pub(super) async fn adopt(
    state: &State,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<WebhookResponse, Error> {
    let (sealers, now) = (state.sealers.clone(), state.clock.now());
    let by = Arc::clone(&caller);
    let change = move |db: &mut Db| {
        let mut row = managed(queries::lock(db, id)?, &by)?;
        if row.status != PAUSED {
            return Ok((row, None));
        }
        let goes_to = target::open(&sealers, &row)?;
        row.maker = Maker::of(&by);
        put_into_use(&mut row);
        store(db, &sealers, &mut row, goes_to, (&by, now), &request_id)?;
        let changed = (Hook::Webhook(id), row.team_id);
        Ok((row, Some(changed)))
    };
    let row = makers::commit(state, &caller, change).await?;
    Ok(row.into())
}

fn put_into_use(row: &mut WebhookRow) {
    ACTIVE.clone_into(&mut row.status);
    row.reason = None;
}

/// Stores the caller's change of a webhook as its next revision; the caller is told when it is switched off.
fn store(
    db: &mut Db,
    sealers: &Sealers,
    row: &mut WebhookRow,
    mut goes_to: WebhookTarget,
    (caller, now): (&CurrentUser, DateTime<Utc>),
    request_id: &RequestId,
) -> Result<(), Error> {
    target::drop_expired(&mut goes_to, now);
    row.revision += 1;
    row.sealed = Some(target::seal(sealers, row.id.get(), row.revision, &goes_to)?);
    row.updated_at = now.naive_utc();
    keep(db, row, now, Some(request_id))?;
    contacts::keep(db, sealers, Hook::Webhook(row.id), row.team_id, caller)
}

pub(super) async fn rotate_secret(
    state: &State,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<WebhookSecretResponse, Error> {
    let (sealers, now) = (state.sealers.clone(), state.clock.now());
    let secret = target::new_secret();
    let (new, by) = (secret.clone(), Arc::clone(&caller));
    let change = move |db: &mut Db| {
        let mut row = managed(queries::lock(db, id)?, &by)?;
        let mut goes_to = target::open(&sealers, &row)?;
        target::rotate(&mut goes_to, new, now);
        row.secret_changed_at = now.naive_utc();
        store(db, &sealers, &mut row, goes_to, (&by, now), &request_id)?;
        let changed = (Hook::Webhook(id), row.team_id);
        Ok((row, Some(changed)))
    };
    let row = makers::commit(state, &caller, change).await?;
    Ok(WebhookSecretResponse::new(row, secret.secret))
}

pub(super) async fn delete(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<(), Error> {
    let now = state.clock.now();
    let change = move |db: &mut Db| {
        let row = managed(queries::lock(db, id)?, &caller)?;
        Ok::<_, Error>(mark_deleted(db, &row, now, Some(&request_id))?)
    };
    state.pool.write_tx(change).await?;
    state.relay.wake();
    Ok(())
}

/// Takes away up to `limit` rows of an owner's webhooks and their logs, and says how many there were.
pub(crate) fn take_away(
    db: &mut Db,
    owner: Owner,
    now: DateTime<Utc>,
    limit: i64,
) -> diesel::QueryResult<usize> {
    let mut taken = 0;
    for row in queries::of_owner(db, owner, limit)? {
        if row.sealed.is_some() {
            mark_deleted(db, &row, now, None)?;
        }
        let room = limit - i64::try_from(taken).unwrap_or(i64::MAX);
        if room <= 0 {
            break;
        }
        taken += clear(db, row.id, room)?;
    }
    Ok(taken)
}

/// Deletes up to `limit` rows of a deleted webhook's log, and with the last of them the webhook.
pub(super) fn clear(db: &mut Db, id: WebhookId, limit: i64) -> diesel::QueryResult<usize> {
    let cleared = deliveries::queries::delete_of(db, id, limit)?;
    if i64::try_from(cleared).is_ok_and(|cleared| cleared < limit) {
        return Ok(cleared + queries::delete(db, id)?);
    }
    Ok(cleared)
}

/// The webhook, for those who may manage it: its user, or an owner or admin of its team. For a client of theirs there are
/// only those that it made.
pub(super) fn managed(row: Option<WebhookRow>, caller: &CurrentUser) -> Result<WebhookRow, Error> {
    let row = row.ok_or(Error::WebhookNotFound)?;
    allow(row.owner().ok_or(Error::WebhookNotFound)?, caller)?;
    if !row.maker.is_open_to(caller) {
        return Err(Error::WebhookNotFound);
    }
    Ok(row)
}

/// Members of a team know that it may have webhooks; to everybody else there are none. A team's webhooks tell what others
/// do, which takes the scope `teams`.
fn allow(owner: Owner, caller: &CurrentUser) -> Result<(), Error> {
    match owner {
        Owner::User(user) if user == caller.id => Ok(()),
        Owner::Team(team) if caller.membership(team).is_none() => Err(Error::WebhookNotFound),
        Owner::Team(_) if !Teams::is_held_by(caller) => Err(Error::InsufficientScope),
        Owner::Team(team) if caller.manages(team) => Ok(()),
        Owner::Team(_) => Err(Error::WebhookForbidden),
        Owner::User(_) => Err(Error::WebhookNotFound),
    }
}

fn mark_deleted(
    db: &mut Db,
    row: &WebhookRow,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> diesel::QueryResult<()> {
    let revision = row.revision + 1;
    queries::mark_deleted(db, row.id, revision, now.naive_utc())?;
    contacts::forget(db, Hook::Webhook(row.id))?;
    let event = WebhookConfigured {
        webhook_id: row.id.get(),
        revision,
        sealed: None,
        paused: false,
    };
    outbox::insert(db, &events::outbox_row(now, request_id, &event)?)
}

/// Keeps a webhook's new revision and tells the notifier of it.
fn keep(
    db: &mut Db,
    row: &WebhookRow,
    now: DateTime<Utc>,
    request_id: Option<&RequestId>,
) -> diesel::QueryResult<()> {
    queries::update(db, row)?;
    let paused = row.status == PAUSED;
    let event = WebhookConfigured {
        webhook_id: row.id.get(),
        revision: row.revision,
        sealed: row.sealed.clone().filter(|_| !paused),
        paused,
    };
    outbox::insert(db, &events::outbox_row(now, request_id, &event)?)
}
