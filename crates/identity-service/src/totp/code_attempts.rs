//! Protection against guessing codes. Codes are short, so the wait after wrong ones grows up to a day, and only a right
//! code ends it. The count is in the database: it holds for all processes and survives restarts. Only a caller with a
//! verified password gets here, so nobody else can make an owner wait.

use auth_types::UserId;
use event_types::MailTemplate;

use super::code_check::plain;
use super::queries;
use crate::accounts;
use crate::app::App;
use crate::error::Error;
use crate::request_context::RequestContext;

/// The number of wrong codes in a row at which the wait begins. Only a faulty app or somebody with the password gets that
/// far. The counting statement has the same limit.
const WAIT_BEGINS: i64 = 5;

/// A code about to be checked. It counts as wrong until it proves right, so that concurrent codes are all counted before
/// the first one is checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeAttempt {
    failures: i64,
}

/// Counts an attempt at an account's second factor. `None` without a code or a factor.
///
/// # Errors
/// [`Error::RateLimited`] while the account has to wait.
pub(crate) async fn start_attempt(
    app: &App,
    user_id: UserId,
    code: Option<&str>,
) -> Result<Option<CodeAttempt>, Error> {
    match code.is_some_and(|code| !plain(code).is_empty()) {
        true => record_attempt(app, user_id, true).await,
        false => Ok(None),
    }
}

/// Counts an attempt at a confirmed factor, or at one that waits for its first code.
pub(super) async fn record_attempt(
    app: &App,
    user_id: UserId,
    confirmed: bool,
) -> Result<Option<CodeAttempt>, Error> {
    if !app.rate_limits.are_enabled() {
        return Ok(None);
    }
    let now = app.clock.now().timestamp_millis();
    let taken = app
        .write_one(move |db| {
            Ok(
                match queries::record_attempt(db, user_id, confirmed, now)? {
                    Some(failures) => Ok(CodeAttempt { failures }),
                    None => Err(queries::find_next_attempt(db, user_id, confirmed)?),
                },
            )
        })
        .await?;
    match taken {
        Ok(attempt) => Ok(Some(attempt)),
        Err(None) => Ok(None),
        Err(Some(next)) => {
            let left = u64::try_from(next - now).unwrap_or_default();
            Err(Error::RateLimited(left.div_ceil(1_000).max(1)))
        }
    }
}

impl CodeAttempt {
    /// Handles a wrong code. When the wait begins, it mails the owner, because somebody else may have the password.
    pub(crate) async fn failed(
        self,
        app: &App,
        user_id: UserId,
        context: &RequestContext,
    ) -> Result<(), Error> {
        if self.failures != WAIT_BEGINS {
            return Ok(());
        }
        app.transact(context, move |tx| {
            let account = accounts::queries::find_account(tx.db, user_id)?;
            let Some(account) = account.filter(|account| account.email_verified) else {
                return Ok(());
            };
            let text = MailTemplate::CodesRefused {
                username: account.username,
                at: tx.now,
                address: tx.context.address_text(),
                user_agent: tx.context.user_agent.clone(),
            };
            tx.mail(&account.email, text)
        })
        .await
    }
}

/// Ends the wait after a right code, even if the request that needed it failed.
pub(crate) async fn reset_failures(app: &App, user_id: UserId) -> Result<(), Error> {
    app.write_one(move |db| queries::reset_failures(db, user_id))
        .await
}
