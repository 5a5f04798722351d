use auth_types::TeamId;
use auth_types::wire::Contact;
use chrono::{DateTime, Utc};
use db_kit::{Db, outbox};
use event_types::{Mail, MailRequested, MailText};
use secrecy::ExposeSecret;
use service_kit::seal::Sealer;

use super::model::{ContactRow, Hook, seal_context};
use super::queries;
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
        return Ok(queries::forget(db, hook)?);
    };
    let contact = Contact {
        username: caller.username.clone(),
        email: email.to_owned(),
    };
    let plain = serde_json::to_vec(&contact).map_err(Error::internal)?;
    let (hook, user_id) = (hook.to_string(), caller.id.get());
    let context = seal_context(&hook, user_id);
    let sealed = sealers.contacts.seal(&context, &plain);
    let row = ContactRow {
        hook,
        user_id,
        team_id: team.map(TeamId::get),
        sealed: sealed.map_err(Error::internal)?,
    };
    Ok(queries::put(db, &row)?)
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
    Ok(outbox::insert(
        db,
        &events::outbox_row(now, None, &request)?,
    )?)
}

/// That the hook is off counts, whether or not somebody can be told.
fn open(sealer: &Sealer, hook: Hook, user: i64, sealed: &str) -> Option<Contact> {
    let context = seal_context(&hook.to_string(), user);
    let opened = sealer.open(&context, sealed);
    let opened = opened.map_err(|cause| {
        log::error!("nobody is told that {hook} was switched off: the contact is {cause}");
    });
    // serde's message would quote what it stumbled over.
    serde_json::from_slice(opened.ok()?.expose_secret()).ok()
}
