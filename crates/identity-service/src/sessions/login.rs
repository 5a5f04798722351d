use auth_types::UserId;
use auth_types::wire::TokenPair;
use serde_json::json;

use super::model::NewSession;
use super::wire::LoginRequest;
use super::{end_excess_sessions, end_replaced, lock_replaced, queries, sign_in_notice};
use crate::accounts::model::{AccountRow, CredentialsRow};
use crate::accounts::{self, Username};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::passwords::{Password, PasswordCheck};
use crate::request_context::RequestContext;
use crate::token_access::Grant;
use crate::totp::{self, CodeCheck};

pub(crate) async fn login(
    app: &App,
    request: LoginRequest,
    context: &RequestContext,
) -> Result<TokenPair, Error> {
    let (account, session) = open(app, request, Grant::FirstParty, context).await?;
    session.token_pair(app, &account).await
}

/// Opens a session after checking the password, and the code if the account has a second factor.
pub(crate) async fn open(
    app: &App,
    request: LoginRequest,
    grant: Grant,
    context: &RequestContext,
) -> Result<(AccountRow, NewSession), Error> {
    let known = verify_password(app, &request.username, &request.password, context).await?;
    known.open(app, request.totp_code, grant, context).await
}

/// A caller whose password is verified. A second factor may still be missing.
pub(crate) struct VerifiedPassword {
    pub(crate) id: UserId,
    /// Lower case, as usernames are compared.
    pub(super) username: String,
    stored: String,
    better: Option<String>,
}

/// Checks a password. Unknown username, wrong password and inactive account give the same error after the same time.
pub(crate) async fn verify_password(
    app: &App,
    username: &str,
    password: &str,
    context: &RequestContext,
) -> Result<VerifiedPassword, Error> {
    // An invalid username is looked up as the empty one, so that a long name takes no memory in the rate limiter.
    let username = Username::parse(username).map_or_else(|_| String::new(), |name| name.lower());
    app.rate_limits
        .check_login(context.address, &username, app.clock.now())?;
    let name = username.clone();
    let found = app
        .read(move |db| accounts::queries::find_credentials(db, &name))
        .await?;
    // An inactive account gets the dummy hash, so that nothing reveals whether the password is right.
    let stored = found
        .as_ref()
        .filter(|credentials| credentials.is_active)
        .map(|credentials| credentials.password_hash.clone());
    let verdict = app
        .passwords
        .verify(Password::from_input(password), stored)
        .await?;
    let (credentials, better) = match (found, verdict) {
        (Some(credentials), PasswordCheck::Match) => (credentials, None),
        (Some(credentials), PasswordCheck::MatchNeedsRehash(better)) => (credentials, Some(better)),
        (found, _) => return Err(refuse(app, found, &username, context).await),
    };
    Ok(VerifiedPassword {
        id: credentials.id,
        username,
        stored: credentials.password_hash,
        better,
    })
}

impl VerifiedPassword {
    /// Restores the caller whose password matched the hash `stored`.
    pub(super) fn again(id: UserId, username: String, stored: String) -> Self {
        Self {
            id,
            username,
            stored,
            better: None,
        }
    }

    /// Returns the hash that the account has after the sign-in: the renewed one if there is one.
    pub(super) fn hash(&self) -> &str {
        self.better.as_deref().unwrap_or(&self.stored)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// [`Error::TotpRequired`] without a code, [`Error::InvalidCredentials`] for a wrong code or a changed account.
    pub(crate) async fn open(
        &self,
        app: &App,
        totp_code: Option<String>,
        grant: Grant,
        context: &RequestContext,
    ) -> Result<(AccountRow, NewSession), Error> {
        let attempt = totp::start_attempt(app, self.id, totp_code.as_deref()).await?;
        let session = NewSession::open(grant, app.clock.now_naive(), context);
        match self.open_session(app, totp_code, session, context).await? {
            SignInResult::Opened(opened) => {
                app.rate_limits
                    .login_succeeded(context.address, &self.username);
                Ok(*opened)
            }
            SignInResult::CodeMissing => Err(Error::TotpRequired),
            refused => {
                let now = app.clock.now();
                app.rate_limits
                    .login_failed(context.address, &self.username, now);
                if let (SignInResult::CodeWrong, Some(attempt)) = (refused, attempt) {
                    attempt.failed(app, self.id, context).await?;
                }
                Err(Error::InvalidCredentials)
            }
        }
    }
}

/// The outcome of a sign-in with a verified password.
enum SignInResult {
    Opened(Box<(AccountRow, NewSession)>),
    CodeMissing,
    CodeWrong,
    /// The password has changed, or the account was deactivated, since the check.
    Refused,
}

async fn refuse(
    app: &App,
    found: Option<CredentialsRow>,
    username: &str,
    context: &RequestContext,
) -> Error {
    app.rate_limits
        .login_failed(context.address, username, app.clock.now());
    let entry = match found {
        Some(row) => NewAuditEntry::on(AuditAction::SIGN_IN_FAILED, row.id),
        None => NewAuditEntry::new(AuditAction::SIGN_IN_FAILED),
    };
    let recorded = app.transact(context, move |tx| tx.audit(&entry)).await;
    recorded.err().unwrap_or(Error::InvalidCredentials)
}

impl VerifiedPassword {
    async fn open_session(
        &self,
        app: &App,
        totp_code: Option<String>,
        mut session: NewSession,
        context: &RequestContext,
    ) -> Result<SignInResult, Error> {
        let sealer = app.sealers.second_factors.clone();
        let id = self.id;
        let (stored, better) = (self.stored.clone(), self.hash().to_owned());
        app.transact(&context.clone().with_actor(id), move |tx| {
            lock_replaced(tx, Some(id))?;
            // The account may have been deactivated, or its password changed, while the hash was computed. The update
            // locks the row: a later change of either finds the new session and ends it.
            if !accounts::queries::replace_hash(tx.db, id, &stored, &better)? {
                tx.audit(&NewAuditEntry::on(AuditAction::SIGN_IN_FAILED, id))?;
                return Ok(SignInResult::Refused);
            }
            // Before this point, nothing about a second factor is revealed or used up.
            match totp::check(tx, &sealer, id, totp_code.as_deref())? {
                CodeCheck::NotNeeded => {}
                CodeCheck::Match => session.has_second_factor = true,
                CodeCheck::Missing => {
                    tx.audit(&NewAuditEntry::on(AuditAction::TOTP_MISSING, id))?;
                    return Ok(SignInResult::CodeMissing);
                }
                CodeCheck::Mismatch => {
                    let entry = NewAuditEntry::on(AuditAction::SIGN_IN_FAILED, id);
                    tx.audit(&entry.details(json!({ "wrong": "code" })))?;
                    return Ok(SignInResult::CodeWrong);
                }
            }
            let account =
                accounts::queries::find_account(tx.db, id)?.ok_or(Error::InvalidCredentials)?;
            sign_in_notice::send_sign_in_notice(tx, &account)?;
            end_replaced(tx, id, &session)?;
            end_excess_sessions(tx, id, &session)?;
            queries::insert_session(tx.db, id, &session)?;
            tx.audit(&NewAuditEntry::on(AuditAction::SIGNED_IN, id).session(&session.id))?;
            Ok(SignInResult::Opened(Box::new((account, session))))
        })
        .await
    }
}
