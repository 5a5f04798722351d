use chrono::NaiveDateTime;
use db_kit::{Db, DbError, is_unique_violation};

use super::model::{AccountRow, NewAccount, UNVERIFIED_CLAIM};
use super::queries::{self, EmailClaim};
use super::rules::{Email, Username};
use crate::error::Error;

/// Writes the account and claims its e-mail address.
pub(crate) fn create_account(
    db: &mut Db,
    username: &Username,
    email: Option<&Email>,
    password_hash: &str,
    now: NaiveDateTime,
) -> Result<AccountRow, Error> {
    let placeholder = username.placeholder_email();
    let row = NewAccount {
        username: username.as_str(),
        username_lower: &username.lower(),
        email: email.map_or(placeholder.as_str(), Email::as_str),
        password_hash,
        created_at: now,
        updated_at: now,
    };
    let id = queries::insert_account(db, &row).map_err(|error| {
        let error = DbError::from(error);
        if is_unique_violation(&error, "users", &["username_lower"]) {
            Error::UsernameTaken
        } else {
            error.into()
        }
    })?;
    if let Some(email) = email {
        let claim = EmailClaim {
            email_lower: email.lower(),
            user_id: id,
            expires_at: Some(now + UNVERIFIED_CLAIM),
            confirmed: true,
            now,
        };
        if !queries::claim_email(db, &claim)? {
            return Err(Error::EmailTaken);
        }
    }
    queries::find_account(db, id)?.ok_or(Error::UserNotFound)
}
