use db_kit::{DbError, is_unique_violation};

use super::model::{AccountRow, NewAccount, UNVERIFIED_CLAIM};
use super::queries::{self, EmailClaim};
use super::{Email, Username};
use crate::app::App;
use crate::error::Error;
use crate::mail_links::{self, Purpose};
use crate::transaction::Transaction;

/// Rejects a taken username before a password is hashed. The unique constraint decides in the end, in [`create_account`].
pub(crate) async fn check_free(app: &App, username: &Username) -> Result<(), Error> {
    let wanted = username.lower();
    let taken = app.read(move |db| queries::username_exists(db, &wanted));
    match taken.await? {
        true => Err(Error::UsernameTaken),
        false => Ok(()),
    }
}

/// Inserts an account and claims its e-mail address.
pub(crate) fn create_account(
    tx: &mut Transaction<'_>,
    username: &Username,
    email: Option<&Email>,
    password_hash: &str,
) -> Result<AccountRow, Error> {
    let now = tx.now.naive_utc();
    let placeholder = username.placeholder_email();
    let row = NewAccount {
        username: username.as_str(),
        username_lower: &username.lower(),
        email: email.map_or(placeholder.as_str(), Email::as_str),
        password_hash,
        created_at: now,
        updated_at: now,
    };
    let id = queries::insert_account(tx.db, &row).map_err(|error| {
        let error = DbError::from(error);
        if is_unique_violation(&error, "users", &["username_lower"]) {
            Error::UsernameTaken
        } else {
            error.into()
        }
    })?;
    let account = queries::find_account(tx.db, id)?.ok_or(Error::UserNotFound)?;
    if let Some(email) = email {
        claim_email(tx, &account, email, true)?;
    }
    Ok(account)
}

/// Claims an unverified address and mails a verification link to it. `confirmed` says whether the password was
/// presented, or chosen, together with it.
pub(crate) fn claim_email(
    tx: &mut Transaction<'_>,
    account: &AccountRow,
    email: &Email,
    confirmed: bool,
) -> Result<(), Error> {
    let now = tx.now.naive_utc();
    let claim = EmailClaim {
        email_lower: email.lower(),
        user_id: account.id,
        expires_at: Some(now + UNVERIFIED_CLAIM),
        confirmed,
        now,
    };
    if !queries::claim_email(tx.db, &claim)? {
        return Err(Error::EmailTaken);
    }
    mail_links::send(tx, Purpose::VerifyEmail, account, email.as_str())
}
