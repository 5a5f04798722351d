//! Who receives a mail when an integration is disabled: the user who configured it last, if their address was verified.
//! Name and address are stored encrypted. They are deleted when the mail is requested, or the integration is removed or
//! configured by another user. A user who leaves the team's management, or whose account is deleted, receives no mail.

mod queries;

use auth_types::TeamId;
use auth_types::wire::Contact;
use chrono::{DateTime, Utc};
use db_kit::Db;
use event_types::{Mail, MailRequested, MailTemplate};
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;

pub(crate) use queries::{delete, delete_for_manager};

use super::Integration;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::sealers::Sealers;

/// Records that `caller` configured an integration, of `team` or their own. Call it in the same transaction. Without a
/// verified address, the previous contact is deleted and nobody receives mails. A client without access to the address
/// leaves the previous contact unchanged.
pub(crate) fn store(
    db: &mut Db,
    sealers: &Sealers,
    integration: Integration,
    team: Option<TeamId>,
    caller: &CurrentUser,
) -> Result<(), Error> {
    if caller.email.is_none() {
        return Ok(());
    }
    let Some(email) = caller.verified_email() else {
        return Ok(delete(db, integration)?);
    };
    let contact = Contact {
        username: caller.username.clone(),
        email: email.to_owned(),
    };
    let plain = serde_json::to_vec(&contact).map_err(Error::internal)?;
    let context = seal_context(integration, caller.id.get());
    let sealed = sealers.contacts.seal(&context, &plain);
    let sealed = sealed.map_err(Error::internal)?;
    Ok(queries::upsert(db, integration, caller.id, team, &sealed)?)
}

/// Requests the mail to the user who configured an integration. Call it in the transaction that disables the integration.
/// `text` receives the user's name.
pub(crate) fn enqueue_creator_mail(
    db: &mut Db,
    sealers: &Sealers,
    integration: Integration,
    now: DateTime<Utc>,
    text: impl FnOnce(String) -> MailTemplate,
) -> Result<(), Error> {
    let Some((user, sealed)) = queries::take(db, integration)? else {
        return Ok(());
    };
    let Some(contact) = open(&sealers.contacts, integration, user, &sealed) else {
        return Ok(());
    };
    enqueue_mail(db, sealers, now, contact.email, text(contact.username))
}

/// Requests a mail. Call it in the transaction of the change that the mail reports.
pub(crate) fn enqueue_mail(
    db: &mut Db,
    sealers: &Sealers,
    now: DateTime<Utc>,
    to: String,
    text: MailTemplate,
) -> Result<(), Error> {
    let mail = Mail { to, text };
    let template = mail.text.template();
    let plain = serde_json::to_vec(&mail).map_err(Error::internal)?;
    let context = MailRequested::seal_context(template);
    let sealed = sealers.mails.seal(&context, &plain);
    let request = MailRequested {
        template: template.to_owned(),
        sealed: sealed.map_err(Error::internal)?,
    };
    Ok(events::enqueue(db, now, None, &request)?)
}

/// Decrypts a contact. A failure is only logged, because the integration is disabled in any case.
fn open(sealer: &Sealer, integration: Integration, user: i64, sealed: &str) -> Option<Contact> {
    let context = seal_context(integration, user);
    let opened = sealer.open(&context, sealed);
    let opened = opened.map_err(|cause| {
        log::error!("no mail about the disabled {integration}: the contact is {cause}");
    });
    // The message of serde would quote the contact.
    serde_json::from_slice(opened.ok()?.expose_secret()).ok()
}

/// Returns the context of a sealed contact, so that one user's contact cannot replace another's.
fn seal_context(integration: Integration, user: i64) -> String {
    format!("contact/{integration}/{user}")
}
