//! Links in mails. Each one works once, for one purpose, account and address, and for a limited time. The database
//! stores only their hashes.

mod queries;

use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::Db;
use diesel::QueryResult;
use event_types::MailTemplate;
use secrecy::{ExposeSecret as _, SecretString};
use service_kit::crypto::{random_token, sha256};

use crate::accounts;
use crate::accounts::model::AccountRow;
use crate::error::Error;
use crate::transaction::Transaction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `BASE/verify-email/TOKEN`
    VerifyEmail,
    /// `BASE/reset-password/TOKEN`
    ResetPassword,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::VerifyEmail => "verify_email",
            Self::ResetPassword => "reset_password",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::VerifyEmail => "verify-email",
            Self::ResetPassword => "reset-password",
        }
    }

    /// Returns how long a link can be used.
    fn life(self) -> TimeDelta {
        match self {
            Self::VerifyEmail => TimeDelta::hours(24),
            Self::ResetPassword => TimeDelta::hours(1),
        }
    }
}

/// Mails a link for an account to an address, and deletes older links of this purpose.
pub(crate) fn send(
    tx: &mut Transaction<'_>,
    purpose: Purpose,
    account: &AccountRow,
    address: &str,
) -> Result<(), Error> {
    let token = random_token();
    let expires_at = tx.now + purpose.life();
    let row = queries::NewMailToken {
        token_hash: &hash(&token),
        purpose: purpose.as_str(),
        user_id: account.id.get(),
        email: address,
        created_at: tx.now.naive_utc(),
        expires_at: expires_at.naive_utc(),
    };
    queries::replace(tx.db, &row)?;
    let (base, path) = (tx.base_url, purpose.path());
    let link = format!("{base}/{path}/{}", token.expose_secret());
    let username = account.username.clone();
    let text = match purpose {
        Purpose::VerifyEmail => MailTemplate::VerifyEmail {
            username,
            link,
            expires_at,
        },
        Purpose::ResetPassword => MailTemplate::ResetPassword {
            username,
            link,
            expires_at,
        },
    };
    tx.mail(address, text)
}

/// Uses up a link, and returns its account and address. A single statement takes it, so that only one of two
/// concurrent callers succeeds. The account is locked before, as in every transaction that withdraws links, to avoid
/// a deadlock.
pub(crate) fn redeem(
    tx: &mut Transaction<'_>,
    purpose: Purpose,
    token: &str,
) -> Result<(UserId, String), Error> {
    let (hash, now) = (hash(&SecretString::from(token)), tx.now.naive_utc());
    let holder = queries::find_holder(tx.db, purpose.as_str(), &hash, now)?;
    accounts::queries::lock_account(tx.db, holder.ok_or(Error::InvalidLink)?.0)?;
    queries::take(tx.db, purpose.as_str(), &hash, now)?.ok_or(Error::InvalidLink)
}

/// Returns the account and address of a link without using it up.
pub(crate) fn find_holder(
    db: &mut Db,
    purpose: Purpose,
    token: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<(AccountRow, String)>> {
    let hash = hash(&SecretString::from(token));
    let Some((user_id, address)) = queries::find_holder(db, purpose.as_str(), &hash, now)? else {
        return Ok(None);
    };
    let account = accounts::queries::find_account(db, user_id)?;
    Ok(account.map(|account| (account, address)))
}

/// Withdraws the links of an account, except the one that verifies its current address.
pub(crate) fn withdraw(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    address: &str,
) -> Result<(), Error> {
    let spared = (Purpose::VerifyEmail.as_str(), address);
    Ok(queries::remove_but(tx.db, user_id, spared)?)
}

/// Returns the hash of a token, as the database stores it.
pub(crate) fn hash(token: &SecretString) -> String {
    URL_SAFE_NO_PAD.encode(sha256(token.expose_secret().as_bytes()))
}
