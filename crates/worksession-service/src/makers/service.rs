use std::collections::BTreeMap;
use std::sync::Arc;

use auth_types::wire::{Contact, ExistenceQuestion};
use auth_types::{TeamId, TeamRole};
use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use event_types::{IntegrationConfigured, MailText, WebhookConfigured};

use super::model::{LostAccess, Paused};
use super::queries;
use crate::auth::CurrentUser;
use crate::contacts::{self, Hook};
use crate::error::Error;
use crate::events;
use crate::state::{AppState, State};

/// The most hooks that a mail names.
const NAMED: usize = 10;

/// A hook that was changed, and its team if it is one's.
pub(crate) type Changed = (Hook, Option<TeamId>);

/// Whom to tell: of the user's own hooks (none) the user, of a team's its owner.
pub(crate) type Recipients = BTreeMap<Option<TeamId>, Option<Contact>>;

/// Whom to tell of the hooks that are to be paused; empty when there are none.
///
/// # Errors
/// Why the identity service does not say, for the log; it is to be asked again.
pub(crate) async fn recipients(state: &AppState, lost: &LostAccess) -> Result<Recipients, String> {
    let by = lost.clone();
    let owners = state
        .pool
        .read::<_, Error, _>(move |db| Ok(queries::owners(db, &by)?));
    let mut recipients = Recipients::new();
    for team_id in owners.await.map_err(|cause| cause.to_string())? {
        let question = ExistenceQuestion {
            user_id: team_id.is_none().then_some(lost.user()),
            team_id,
            session_id: None,
        };
        let contact = state
            .identity
            .contact(&state.sealers.questions, &question)
            .await?;
        recipients.insert(team_id, contact);
    }
    Ok(recipients)
}

/// Pauses the hooks that lost what made them: the notifier calls them no more, and their owners get a mail.
pub(crate) fn pause(
    db: &mut Db,
    state: &AppState,
    lost: &LostAccess,
    recipients: &Recipients,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let mut mails: BTreeMap<&str, (&Contact, Vec<String>)> = BTreeMap::new();
    for paused in pause_and_publish(db, lost, now)? {
        if let Some(Some(contact)) = recipients.get(&paused.team) {
            let mail = mails.entry(&contact.email);
            mail.or_insert((contact, Vec::new())).1.push(paused.name);
        }
    }
    for (contact, mut hooks) in mails.into_values() {
        let more = hooks.len().saturating_sub(NAMED);
        hooks.truncate(NAMED);
        let text = MailText::HooksPaused {
            username: contact.username.clone(),
            reason: lost.reason().to_owned(),
            hooks,
            more,
            at: now,
            link: state.page("/settings/webhooks"),
        };
        contacts::mail(db, &state.sealers, now, contact.email.clone(), text)?;
    }
    Ok(())
}

/// Commits a change of the hook that it gives, and then judges once more what the hook was changed with. In this order
/// nothing slips through: whatever is withdrawn before the question is seen by it, and an event about what is withdrawn
/// later finds the hook. It runs to its end even when the client hangs up in between.
///
/// # Errors
/// Those of the change, and what the caller is told when the hook is paused after all.
pub(crate) async fn commit<T: Send + 'static>(
    state: &State,
    caller: &Arc<CurrentUser>,
    change: impl FnOnce(&mut Db) -> Result<(T, Option<Changed>), Error> + Send + 'static,
) -> Result<T, Error> {
    let (state, caller) = (state.clone(), Arc::clone(caller));
    let work = async move {
        let (outcome, changed) = state.pool.write_tx(change).await?;
        state.relay.wake();
        if let Some((hook, team_id)) = changed {
            confirm(&state, &caller, hook, team_id).await?;
        }
        Ok(outcome)
    };
    actix_web::rt::spawn(work).await.map_err(Error::internal)?
}

/// Pauses a hook that was just changed with what is not good any more. The identity service answers this from its database,
/// not from memory.
async fn confirm(
    state: &AppState,
    caller: &CurrentUser,
    hook: Hook,
    team_id: Option<TeamId>,
) -> Result<(), Error> {
    let session_id = caller.session_id.clone();
    // An identity service of an earlier version names no session, so there is nothing to ask about. What somebody made of
    // their own at the product itself does not end with the sign-in.
    let is_sign_in = caller.is_first_party && caller.client_id.is_none();
    if session_id.is_none() || (is_sign_in && team_id.is_none()) {
        return Ok(());
    }
    let user = caller.id;
    let question = ExistenceQuestion {
        user_id: Some(user),
        team_id,
        session_id,
    };
    let refusal = match state
        .identity
        .existence(&state.sealers.questions, &question)
        .await
    {
        Ok(answer) if !answer.exists => Error::AuthenticationRequired,
        Ok(answer) if team_id.is_none() || answer.role >= Some(TeamRole::Admin) => return Ok(()),
        Ok(_) => hook.forbidden(),
        Err(cause) => {
            log::warn!("{hook} is paused: {cause}");
            Error::AuthenticationUnavailable
        }
    };
    let now = state.clock.now();
    let lost = LostAccess::Hook { user, hook };
    let pause = move |db: &mut Db| pause_and_publish(db, &lost, now).map(drop);
    state.pool.write_tx(pause).await?;
    state.relay.wake();
    Err(refusal)
}

/// Pauses, and publishes it for the notifier. In whatever order the notifier hears of the pause and of the target with the
/// same revision, it calls nobody until there is a newer one.
fn pause_and_publish(
    db: &mut Db,
    lost: &LostAccess,
    now: DateTime<Utc>,
) -> Result<Vec<Paused>, Error> {
    let paused_hooks = queries::pause(db, lost, now.naive_utc())?;
    for Paused { hook, revision, .. } in &paused_hooks {
        let (revision, sealed, paused) = (*revision, None, true);
        let row = match hook {
            Hook::Webhook(id) => {
                let webhook_id = id.get();
                let event = WebhookConfigured {
                    webhook_id,
                    revision,
                    sealed,
                    paused,
                };
                events::outbox_row(now, None, &event)
            }
            Hook::Chat(project) => {
                let project_id = project.get();
                let event = IntegrationConfigured {
                    project_id,
                    revision,
                    sealed,
                    paused,
                };
                events::outbox_row(now, None, &event)
            }
        };
        outbox::insert(db, &row?)?;
    }
    Ok(paused_hooks)
}
