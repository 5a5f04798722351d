use std::collections::BTreeMap;

use auth_types::TeamId;
use auth_types::wire::{Contact, ExistenceQuestion};
use chrono::{DateTime, Utc};
use db_kit::Db;
use event_types::MailTemplate;

use super::queries::{self, PausedIntegration};
use super::{LostAccess, RevisionTarget, contacts};
use crate::app_state::AppState;
use crate::error::Error;

/// The maximum number of integrations that a mail lists.
const MAX_NAMED: usize = 10;

/// The recipients of mails: a team's owner under the team, and the user under none for their own integrations.
pub(crate) type Recipients = BTreeMap<Option<TeamId>, Option<Contact>>;

/// Returns the recipients of mails about integrations that will be paused; empty if there are none.
///
/// # Errors
/// The cause for the log, when the identity service gives no usable response. The caller must retry.
pub(crate) async fn load_recipients(
    state: &AppState,
    lost: &LostAccess,
) -> Result<Recipients, String> {
    let access = lost.clone();
    let owners = state.read(move |db| queries::list_owners(db, &access));
    let mut recipients = Recipients::new();
    for team_id in owners.await.map_err(|cause| cause.to_string())? {
        let question = ExistenceQuestion {
            user_id: team_id.is_none().then_some(lost.user()),
            team_id,
            session_id: None,
        };
        let contact = state
            .identity
            .request_contact(&state.sealers.questions, &question);
        recipients.insert(team_id, contact.await?);
    }
    Ok(recipients)
}

/// Pauses the integrations that lost access. The notifier stops calling them, and their owners receive a mail.
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
    for (contact, mut names) in mails.into_values() {
        let more = names.len().saturating_sub(MAX_NAMED);
        names.truncate(MAX_NAMED);
        let text = MailTemplate::HooksPaused {
            username: contact.username.clone(),
            reason: lost.reason().to_owned(),
            hooks: names,
            more,
            at: now,
            link: state.page("/settings/webhooks"),
        };
        contacts::enqueue_mail(db, &state.sealers, now, contact.email.clone(), text)?;
    }
    Ok(())
}

/// Pauses the integrations and publishes that to the notifier. The pause and the target of the same revision can arrive in
/// any order. The notifier then calls nothing until there is a newer revision.
pub(super) fn pause_and_publish(
    db: &mut Db,
    lost: &LostAccess,
    now: DateTime<Utc>,
) -> Result<Vec<PausedIntegration>, Error> {
    let paused = queries::pause(db, lost, now.naive_utc())?;
    for one in &paused {
        let integration = one.integration;
        integration.enqueue_revision(db, one.revision, RevisionTarget::Paused, now, None)?;
    }
    Ok(paused)
}
