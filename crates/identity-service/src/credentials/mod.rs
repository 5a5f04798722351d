//! Password and e-mail address of an account: changing them, and recovering access by mail.

pub(crate) mod email;
pub(crate) mod password_change;
pub(crate) mod password_reset;
mod queries;
mod reauthentication;
pub(crate) mod routes;
pub(crate) mod wire;

use event_types::MailTemplate;

use crate::accounts::model::AccountRow;
use crate::error::Error;
use crate::transaction::Transaction;

pub(crate) use reauthentication::Reauthentication;

/// Notifies an account's owner of a change by mail, if the address is verified.
pub(crate) fn notify_owner(
    tx: &mut Transaction<'_>,
    account: &AccountRow,
    what: &str,
) -> Result<(), Error> {
    if !account.email_verified {
        return Ok(());
    }
    let text = MailTemplate::SecurityChanged {
        username: account.username.clone(),
        what: what.to_owned(),
        at: tx.now,
    };
    tx.mail(&account.email, text)
}
