use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use auth_types::UserId;
use serde_json::json;
use service_kit::seal::Sealer;

use super::queries;
use crate::accounts;
use crate::accounts::model::AccountRow;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::passwords::{Password, PasswordCheck};
use crate::request_context::RequestContext;
use crate::sessions;
use crate::totp::{self, CodeAttempt, CodeCheck};
use crate::transaction::Transaction;

/// A signed-in caller who has just presented the password again, for changes that a stolen access token alone must
/// not make.
#[derive(Clone)]
pub(crate) struct Reauthentication {
    user_id: UserId,
    session_id: String,
    username: String,
    stored: String,
    better: String,
    totp_code: Option<String>,
    attempt: Option<CodeAttempt>,
    /// Whether the code was correct, even if the transaction was rolled back afterwards.
    has_code_matched: Arc<AtomicBool>,
    second_factors: Sealer,
    context: RequestContext,
    what: &'static str,
}

impl Reauthentication {
    /// Checks the password. `what` names the operation in the audit log.
    ///
    /// # Errors
    /// [`Error::InvalidCredentials`], which counts like a failed sign-in, and [`Error::RateLimited`].
    pub(crate) async fn verify(
        app: &App,
        caller: &CurrentUser,
        (password, totp_code): (&str, Option<String>),
        context: &RequestContext,
        what: &'static str,
    ) -> Result<Self, Error> {
        let user_id = caller.account.id;
        let username = caller.account.username.to_ascii_lowercase();
        app.rate_limits
            .check_login(context.address, &username, app.clock.now())?;
        let stored = app
            .read(move |db| queries::find_hash(db, user_id))
            .await?
            .ok_or(Error::TokenRevoked)?;
        let mut reauth = Self {
            user_id,
            session_id: caller.token.session_id.clone(),
            username,
            better: stored.clone(),
            stored,
            totp_code,
            attempt: None,
            has_code_matched: Arc::default(),
            second_factors: app.sealers.second_factors.clone(),
            context: context.clone().with_actor(user_id),
            what,
        };
        let password = Password::from_input(password);
        match app
            .passwords
            .verify(password, Some(reauth.stored.clone()))
            .await?
        {
            PasswordCheck::Match => {}
            PasswordCheck::MatchNeedsRehash(better) => reauth.better = better,
            PasswordCheck::Mismatch => return Err(reauth.record_failure(app, "password").await),
        }
        Ok(reauth)
    }

    /// Counts the code as an attempt before it is checked. Called before the first transaction.
    ///
    /// # Errors
    /// [`Error::RateLimited`] while the account has to wait before its next code.
    pub(crate) async fn with_attempt(mut self, app: &App) -> Result<Self, Error> {
        self.attempt = totp::start_attempt(app, self.user_id, self.totp_code.as_deref()).await?;
        Ok(self)
    }

    /// Runs the transaction that the password was required for, with the account as read inside it and the id of the
    /// caller's session.
    ///
    /// # Errors
    /// Those of `work` and of [`Reauthentication::check`].
    pub(crate) async fn transact<T, F>(self, app: &App, work: F) -> Result<T, Error>
    where
        F: FnOnce(&mut Transaction<'_>, &AccountRow, &str) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let reauth = self.with_attempt(app).await?;
        let checked = reauth.clone();
        let done = app.transact(&reauth.context, move |tx| {
            let account = checked.check(tx)?;
            work(tx, &account, &checked.session_id)
        });
        let done = done.await;
        reauth.record_outcome(app, done).await
    }

    /// Checks, inside a transaction, that everything presented is still valid, and uses up the code. Until the
    /// transaction ends, nobody else can change the account's credentials or sign in to it.
    ///
    /// # Errors
    /// [`Error::TotpRequired`] if the account has a second factor and no code was given;
    /// [`Error::InvalidCredentials`] if the code is wrong or the password has changed; [`Error::TokenRevoked`] if the
    /// session has ended. The caller must roll back the transaction.
    pub(crate) fn check(&self, tx: &mut Transaction<'_>) -> Result<AccountRow, Error> {
        let id = self.user_id;
        if !accounts::queries::replace_hash(tx.db, id, &self.stored, &self.better)? {
            return Err(Error::InvalidCredentials);
        }
        if !sessions::queries::is_unrevoked(tx.db, &self.session_id)? {
            return Err(Error::TokenRevoked);
        }
        match totp::check(tx, &self.second_factors, id, self.totp_code.as_deref())? {
            CodeCheck::NotNeeded => {}
            CodeCheck::Match => self.has_code_matched.store(true, Ordering::Relaxed),
            CodeCheck::Missing => return Err(Error::TotpRequired),
            CodeCheck::Mismatch => return Err(Error::InvalidCredentials),
        }
        accounts::queries::find_account(tx.db, id)?.ok_or(Error::TokenRevoked)
    }

    /// Updates the failure counters by the outcome of the transaction.
    pub(crate) async fn record_outcome<T>(
        self,
        app: &App,
        done: Result<T, Error>,
    ) -> Result<T, Error> {
        match done {
            Err(Error::InvalidCredentials) => {
                let refused = self.record_failure(app, "code").await;
                if let Some(attempt) = self.attempt {
                    attempt.failed(app, self.user_id, &self.context).await?;
                }
                Err(refused)
            }
            Err(error) => {
                if self.has_code_matched.load(Ordering::Relaxed) {
                    totp::reset_failures(app, self.user_id).await?;
                }
                Err(error)
            }
            Ok(value) => {
                let address = self.context.address;
                app.rate_limits.login_succeeded(address, &self.username);
                Ok(value)
            }
        }
    }

    async fn record_failure(&self, app: &App, wrong: &'static str) -> Error {
        app.rate_limits
            .login_failed(self.context.address, &self.username, app.clock.now());
        let entry = NewAuditEntry::on(AuditAction::PASSWORD_REFUSED, self.user_id)
            .session(&self.session_id)
            .details(json!({ "for": self.what, "wrong": wrong }));
        let recorded = app
            .transact(&self.context, move |tx| tx.audit(&entry))
            .await;
        recorded.err().unwrap_or(Error::InvalidCredentials)
    }
}
