use std::sync::Arc;

use auth_types::TeamId;
use chrono::{DateTime, Utc};
use db_kit::{Db, is_unique_violation};
use event_types::WebhookTarget;
use service_kit::http::{Json, RequestId};

use super::model::{EVENTS, MAX_WEBHOOKS, WebhookOwner, WebhookRow};
use super::queries::{self, NewWebhook};
use super::wire::{
    CreateWebhookRequest, UpdateWebhookRequest, WebhookResponse, WebhookSecretResponse,
    WebhooksResponse, parse_description, parse_events,
};
use super::{revisions, target};
use crate::app_state::{AppState, State};
use crate::auth::{CurrentUser, RequiredScope, Teams};
use crate::error::Error;
use crate::integrations::{
    self, ACTIVE, DISABLED, Integration, IntegrationCreator, PAUSED, WebhookId, contacts, parse_url,
};

pub(super) async fn list(
    state: &AppState,
    caller: &CurrentUser,
) -> Result<WebhooksResponse, Error> {
    let has_teams_scope = Teams::is_granted_to(caller);
    let teams = caller.teams.iter().map(|team| team.id);
    let managed = teams.filter(|team| has_teams_scope && caller.manages(*team));
    let teams: Vec<TeamId> = managed.collect();
    let user = caller.id;
    let list = move |db: &mut Db| queries::list(db, user, &teams);
    let mut rows = state.read(list).await?;
    rows.retain(|row| row.creator.is_open_to(caller));
    Ok(WebhooksResponse {
        success: true,
        webhooks: rows.into_iter().map(Into::into).collect(),
    })
}

pub(super) async fn create(
    state: &State,
    caller: Arc<CurrentUser>,
    request: CreateWebhookRequest,
    request_id: RequestId,
) -> Result<WebhookSecretResponse, Error> {
    // Authorization comes before the rest of the body.
    let owner = match request.team_id {
        None => WebhookOwner::User(caller.id),
        Some(team) => WebhookOwner::Team(team),
    };
    check_owner(owner, &caller).map_err(|error| match error {
        Error::WebhookNotFound => Error::TeamNotFound,
        other => other,
    })?;
    let url = parse_url("url", request.url.as_deref(), &state.guard)?;
    let now = state.clock.now();
    let new = Arc::new(NewWebhook {
        owner,
        description: parse_description(request.description.as_deref().unwrap_or_default())?,
        origin: target::origin(&url),
        events: match &request.events {
            Some(events) => parse_events(events)?,
            None => EVENTS.join(" "),
        },
        now: now.naive_utc(),
        creator: IntegrationCreator::new(&caller),
    });
    let secret = target::new_secret();
    let target = Arc::new(WebhookTarget {
        url: url.into(),
        secrets: vec![secret.clone()],
    });
    let row = insert(state, &caller, &new, &target, now, &request_id).await?;
    Ok(WebhookSecretResponse::new(row, secret.secret))
}

/// Inserts the webhook. If several requests take a slot at once, one gets it and the others take the next.
async fn insert(
    state: &State,
    caller: &Arc<CurrentUser>,
    new: &Arc<NewWebhook>,
    target: &Arc<WebhookTarget>,
    now: DateTime<Utc>,
    request_id: &RequestId,
) -> Result<WebhookRow, Error> {
    // One attempt more than there are slots: each failed attempt has seen one of them taken.
    for _ in 0..=MAX_WEBHOOKS {
        let (by, new, target) = (Arc::clone(caller), Arc::clone(new), Arc::clone(target));
        let (sealers, request_id) = (state.sealers.clone(), request_id.clone());
        let stored = integrations::commit_change(state, caller, move |db| {
            let id = queries::insert(db, &new)?.ok_or(Error::TooManyWebhooks)?;
            let mut row = queries::find(db, id)?.ok_or(Error::WebhookNotFound)?;
            row.sealed = Some(target::seal(&sealers, id, row.revision, &target)?);
            revisions::store(db, &row, now, Some(&request_id))?;
            contacts::store(db, &sealers, Integration::Webhook(id), row.team_id, &by)?;
            let changed = (Integration::Webhook(id), row.team_id);
            Ok((row, Some(changed)))
        });
        match stored.await {
            Err(Error::Db(cause)) if is_slot_taken(&cause) => {}
            other => return other,
        }
    }
    Err(Error::TooManyWebhooks)
}

fn is_slot_taken(cause: &db_kit::DbError) -> bool {
    ["user_id", "team_id"]
        .into_iter()
        .any(|owner| is_unique_violation(cause, "webhooks", &[owner, "slot"]))
}

pub(super) async fn get(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
) -> Result<WebhookResponse, Error> {
    let find = move |db: &mut Db| authorize(queries::find(db, id)?, &caller);
    Ok(state.pool.read(find).await?.into())
}

pub(super) async fn update(
    state: &State,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request: Json<UpdateWebhookRequest>,
    request_id: RequestId,
) -> Result<WebhookResponse, Error> {
    let (guard, by) = (state.guard.clone(), Arc::clone(&caller));
    let edit = move |row: &mut WebhookRow, target: &mut WebhookTarget, _| {
        // Authorization comes before the body.
        let request = request.into_inner()?;
        if let Some(address) = &request.url {
            let url = parse_url("url", Some(address), &guard)?;
            row.origin = target::origin(&url);
            target.url = url.into();
            row.creator = IntegrationCreator::new(&by);
        }
        if let Some(events) = &request.events {
            row.events = parse_events(events)?;
        }
        if let Some(description) = &request.description {
            row.description = parse_description(description)?;
        }
        // Other changes leave a paused webhook paused, because its address still comes from a creator without access.
        if request.url.is_some() || row.status == DISABLED {
            activate(row);
        }
        Ok(true)
    };
    Ok(revise(state, &caller, id, request_id, edit).await?.into())
}

/// Activates a paused webhook with the caller as its creator. Any other stays as it is.
pub(super) async fn adopt(
    state: &State,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<WebhookResponse, Error> {
    let creator = IntegrationCreator::new(&caller);
    let edit = move |row: &mut WebhookRow, _: &mut _, _| {
        let is_paused = row.status == PAUSED;
        if is_paused {
            row.creator = creator;
            activate(row);
        }
        Ok(is_paused)
    };
    Ok(revise(state, &caller, id, request_id, edit).await?.into())
}

pub(super) async fn rotate_secret(
    state: &State,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<WebhookSecretResponse, Error> {
    let secret = target::new_secret();
    let new = secret.clone();
    let edit = move |row: &mut WebhookRow, target: &mut WebhookTarget, now: DateTime<Utc>| {
        target::rotate(target, new, now);
        row.secret_changed_at = now.naive_utc();
        Ok(true)
    };
    let row = revise(state, &caller, id, request_id, edit).await?;
    Ok(WebhookSecretResponse::new(row, secret.secret))
}

/// Stores the next revision of a webhook that the caller manages, as `edit` makes it, unless that returns false. The
/// caller becomes the contact for the mail when the webhook is disabled.
async fn revise(
    state: &State,
    caller: &Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
    edit: impl FnOnce(&mut WebhookRow, &mut WebhookTarget, DateTime<Utc>) -> Result<bool, Error>
    + Send
    + 'static,
) -> Result<WebhookRow, Error> {
    let (sealers, now) = (state.sealers.clone(), state.clock.now());
    let by = Arc::clone(caller);
    let change = move |db: &mut Db| {
        let mut row = authorize(queries::lock(db, id)?, &by)?;
        let mut target = target::open(&sealers, &row)?;
        if !edit(&mut row, &mut target, now)? {
            return Ok((row, None));
        }
        target::delete_expired_secrets(&mut target, now);
        row.revision += 1;
        row.sealed = Some(target::seal(&sealers, id, row.revision, &target)?);
        row.updated_at = now.naive_utc();
        revisions::store(db, &row, now, Some(&request_id))?;
        contacts::store(db, &sealers, Integration::Webhook(id), row.team_id, &by)?;
        let changed = (Integration::Webhook(id), row.team_id);
        Ok((row, Some(changed)))
    };
    integrations::commit_change(state, caller, change).await
}

fn activate(row: &mut WebhookRow) {
    ACTIVE.clone_into(&mut row.status);
    row.reason = None;
}

pub(super) async fn delete(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: WebhookId,
    request_id: RequestId,
) -> Result<(), Error> {
    let now = state.clock.now();
    let change = move |db: &mut Db| {
        let row = authorize(queries::lock(db, id)?, &caller)?;
        Ok::<_, Error>(revisions::mark_deleted(db, &row, now, Some(&request_id))?)
    };
    state.pool.write_tx(change).await?;
    state.relay.wake();
    Ok(())
}

/// Returns the webhook to those who may manage it: its user, or an owner or admin of its team. Their clients and SSO
/// sessions see only the webhooks that they created.
pub(super) fn authorize(row: Option<WebhookRow>, user: &CurrentUser) -> Result<WebhookRow, Error> {
    let row = row.ok_or(Error::WebhookNotFound)?;
    check_owner(row.owner().ok_or(Error::WebhookNotFound)?, user)?;
    if !row.creator.is_open_to(user) {
        return Err(Error::WebhookNotFound);
    }
    Ok(row)
}

/// Checks the access to an owner's webhooks. Non-members of a team must not learn whether it has any. A team's webhooks
/// report what others do, so they require the scope `teams`.
fn check_owner(owner: WebhookOwner, caller: &CurrentUser) -> Result<(), Error> {
    match owner {
        WebhookOwner::User(user) if user == caller.id => Ok(()),
        WebhookOwner::Team(team) if caller.membership(team).is_none() => {
            Err(Error::WebhookNotFound)
        }
        WebhookOwner::Team(_) if !Teams::is_granted_to(caller) => Err(Error::InsufficientScope),
        WebhookOwner::Team(team) if caller.manages(team) => Ok(()),
        WebhookOwner::Team(_) => Err(Error::WebhookForbidden),
        WebhookOwner::User(_) => Err(Error::WebhookNotFound),
    }
}
