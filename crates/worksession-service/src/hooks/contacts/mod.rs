//! Whom to tell by mail that a hook was switched off: who configured it last, if that person's address was proven then.
//! Name and address are kept sealed, and only until the mail is asked for, the hook changes hands or goes, the person manages
//! the team no more, or the account is gone.

mod queries;

use auth_types::TeamId;
use auth_types::wire::Contact;
use chrono::{DateTime, Utc};
use db_kit::Db;
use event_types::{Mail, MailRequested, MailText};
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;

pub(crate) use queries::{forget, forget_manager};

use super::Hook;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::events;
use crate::sealers::Sealers;

/// Notes that `caller` configured a hook, of `team` or the caller's own; in the transaction that does it. Without
/// a proven address nobody is to be told, nor is whoever configured it before. A client that may not know the address
/// says nothing about it: whoever was to be told still is.
pub(crate) fn keep(
    db: &mut Db,
    sealers: &Sealers,
    hook: Hook,
    team: Option<TeamId>,
    caller: &CurrentUser,
) -> Result<(), Error> {
    if caller.email.is_none() {
        return Ok(());
    }
    let Some(email) = caller.proven_email() else {
        return Ok(forget(db, hook)?);
    };
    let contact = Contact {
        username: caller.username.clone(),
        email: email.to_owned(),
    };
    let plain = serde_json::to_vec(&contact).map_err(Error::internal)?;
    let context = seal_context(hook, caller.id.get());
    let sealed = sealers.contacts.seal(&context, &plain);
    let sealed = sealed.map_err(Error::internal)?;
    Ok(queries::put(db, hook, caller.id, team, &sealed)?)
}

/// Asks for the mail that tells whoever configured a hook; in the transaction that switches it off. `text` is
/// given that person's name.
pub(crate) fn tell(
    db: &mut Db,
    sealers: &Sealers,
    hook: Hook,
    now: DateTime<Utc>,
    text: impl FnOnce(String) -> MailText,
) -> Result<(), Error> {
    let Some((user, sealed)) = queries::take(db, hook)? else {
        return Ok(());
    };
    let Some(contact) = open(&sealers.contacts, hook, user, &sealed) else {
        return Ok(());
    };
    mail(db, sealers, now, contact.email, text(contact.username))
}

/// Asks for a mail; in the transaction of what it tells of.
pub(crate) fn mail(
    db: &mut Db,
    sealers: &Sealers,
    now: DateTime<Utc>,
    to: String,
    text: MailText,
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

/// That the hook is off counts, whether or not somebody can be told.
fn open(sealer: &Sealer, hook: Hook, user: i64, sealed: &str) -> Option<Contact> {
    let context = seal_context(hook, user);
    let opened = sealer.open(&context, sealed);
    let opened = opened.map_err(|cause| {
        log::error!("nobody is told that {hook} was switched off: the contact is {cause}");
    });
    // serde's message would quote what it stumbled over.
    serde_json::from_slice(opened.ok()?.expose_secret()).ok()
}

/// What a sealed contact is bound to, so that one person's cannot be passed off as another's.
fn seal_context(hook: Hook, user: i64) -> String {
    format!("contact/{hook}/{user}")
}
