use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use auth_types::UserId;
use serde_json::json;
use service_kit::seal::Sealer;

use super::queries;
use crate::accounts;
use crate::accounts::model::AccountRow;
use crate::accounts::rules::Password;
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::auth::CurrentUser;
use crate::change::Change;
use crate::error::Error;
use crate::origin::Origin;
use crate::passwords::Verdict;
use crate::sessions;
use crate::totp::{self, Attempt, CodeCheck};

/// Somebody who is signed in and has just shown the password again, for what a stolen access token
/// alone must not do.
#[derive(Clone)]
pub(crate) struct Proof {
    user_id: UserId,
    session_id: String,
    username: String,
    stored: String,
    better: String,
    totp_code: Option<String>,
    attempt: Option<Attempt>,
    /// Whether the code was right, though the transaction may have been given up afterwards.
    is_code_right: Arc<AtomicBool>,
    second_factors: Sealer,
    origin: Origin,
    what: &'static str,
}

impl Proof {
    /// Checks the password; `what` is what it is asked for, in the audit log.
    ///
    /// # Errors
    /// [`Error::InvalidCredentials`], which counts like a refused sign-in, and [`Error::RateLimited`].
    pub(crate) async fn of(
        app: &App,
        caller: &CurrentUser,
        (password, totp_code): (&str, Option<String>),
        origin: &Origin,
        what: &'static str,
    ) -> Result<Self, Error> {
        let user_id = caller.account.id;
        let username = caller.account.username.to_ascii_lowercase();
        app.limits
            .check_login(origin.address, &username, app.clock.now())?;
        let stored = app
            .read(move |db| queries::find_hash(db, user_id))
            .await?
            .ok_or(Error::TokenRevoked)?;
        let mut proof = Self {
            user_id,
            session_id: caller.token.session_id.clone(),
            username,
            better: stored.clone(),
            stored,
            totp_code,
            attempt: None,
            is_code_right: Arc::default(),
            second_factors: app.sealers.second_factors.clone(),
            origin: origin.clone().by(user_id),
            what,
        };
        let presented = Password::presented(password);
        match app
            .passwords
            .verify(presented, Some(proof.stored.clone()))
            .await?
        {
            Verdict::Right => {}
            Verdict::RightButWeak(better) => proof.better = better,
            Verdict::Wrong => return Err(proof.refuse(app, "password").await),
        }
        Ok(proof)
    }

    /// Counts the code, if one was given, before it is looked at: to be called before the first transaction.
    ///
    /// # Errors
    /// [`Error::RateLimited`] while the account has to wait for its next code.
    pub(crate) async fn with_attempt(mut self, app: &App) -> Result<Self, Error> {
        self.attempt = totp::begin(app, self.user_id, self.totp_code.as_deref()).await?;
        Ok(self)
    }

    /// Runs the transaction of what the password was asked for, with the account as it is in it.
    ///
    /// # Errors
    /// What `work` returns, and those of [`Proof::hold`].
    pub(crate) async fn change<T, F>(self, app: &App, work: F) -> Result<T, Error>
    where
        F: FnOnce(&mut Change<'_>, &AccountRow) -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let proof = self.with_attempt(app).await?;
        let held = proof.clone();
        let done = app.change(&proof.origin, move |change| {
            let account = held.hold(change)?;
            work(change, &account)
        });
        let done = done.await;
        proof.settle(app, done).await
    }

    /// In a transaction: makes sure that everything shown is still good, and uses the code up. Nobody else
    /// changes the account's credentials, or signs in to it, from now on until its end.
    ///
    /// # Errors
    /// [`Error::TotpRequired`] when the account has a second factor and no code was given,
    /// [`Error::InvalidCredentials`] when the code is wrong or the password is not what it was,
    /// [`Error::TokenRevoked`] when the session was ended meanwhile. The transaction is to be given up.
    pub(crate) fn hold(&self, change: &mut Change<'_>) -> Result<AccountRow, Error> {
        let id = self.user_id;
        if !accounts::queries::replace_hash(change.db, id, &self.stored, &self.better)? {
            return Err(Error::InvalidCredentials);
        }
        if !sessions::queries::stands(change.db, &self.session_id)? {
            return Err(Error::TokenRevoked);
        }
        match totp::check(change, &self.second_factors, id, self.totp_code.as_deref())? {
            CodeCheck::NotNeeded => {}
            CodeCheck::Right => self.is_code_right.store(true, Ordering::Relaxed),
            CodeCheck::Missing => return Err(Error::TotpRequired),
            CodeCheck::Wrong => return Err(Error::InvalidCredentials),
        }
        accounts::queries::find_account(change.db, id)?.ok_or(Error::TokenRevoked)
    }

    /// Counts what came of the transaction that had this in it, for the next who tries.
    pub(crate) async fn settle<T>(self, app: &App, done: Result<T, Error>) -> Result<T, Error> {
        match done {
            Err(Error::InvalidCredentials) => {
                let refused = self.refuse(app, "code").await;
                if let Some(attempt) = self.attempt {
                    attempt.failed(app, self.user_id, &self.origin).await?;
                }
                Err(refused)
            }
            Err(error) => {
                if self.is_code_right.load(Ordering::Relaxed) {
                    totp::forget_failures(app, self.user_id).await?;
                }
                Err(error)
            }
            Ok(value) => {
                let address = self.origin.address;
                app.limits.login_succeeded(address, &self.username);
                Ok(value)
            }
        }
    }

    async fn refuse(&self, app: &App, wrong: &'static str) -> Error {
        app.limits
            .login_failed(self.origin.address, &self.username, app.clock.now());
        let entry = Entry::on(Action::PASSWORD_REFUSED, self.user_id)
            .session(&self.session_id)
            .details(json!({ "for": self.what, "wrong": wrong }));
        let recorded = app
            .change(&self.origin, move |change| change.audit(&entry))
            .await;
        recorded.err().unwrap_or(Error::InvalidCredentials)
    }
}
