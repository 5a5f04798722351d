use auth_types::UserId;
use secrecy::ExposeSecret as _;

use super::code_attempts;
use super::code_check::plain;
use super::queries;
use super::recovery_code::RecoveryCode;
use super::secret::TotpSecret;
use super::wire::{
    RecoveryCodes, TotpChangeRequest, TotpConfirmRequest, TotpSetup, TotpSetupRequest, TotpStatus,
};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::credentials::{Reauthentication, notify_owner};
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::transaction::Transaction;

pub(crate) async fn status(app: &App, caller: &CurrentUser) -> Result<TotpStatus, Error> {
    let user_id = caller.account.id;
    app.read(move |db| {
        Ok(TotpStatus {
            enabled: queries::is_on(db, user_id)?,
            recovery_codes_left: queries::count_codes(db, user_id)?,
        })
    })
    .await
}

/// Creates a secret in place of an unconfirmed one.
pub(crate) async fn set_up(
    app: &App,
    caller: &CurrentUser,
    request: TotpSetupRequest,
    context: &RequestContext,
) -> Result<TotpSetup, Error> {
    let user_id = caller.account.id;
    let enabled = app.read(move |db| queries::is_on(db, user_id)).await?;
    if enabled {
        return Err(already_enabled());
    }
    let shown = (request.password.as_str(), None);
    let reauth = Reauthentication::verify(app, caller, shown, context, "totp setup").await?;
    let factor = TotpSecret::generate(&caller.account.username)?;
    let sealed = factor.seal(&app.sealers.second_factors, user_id)?;
    reauth
        .transact(app, move |tx, account, session_id| {
            let now = tx.now.naive_utc();
            if !queries::set_up(tx.db, account.id, &sealed, now)? {
                return Err(already_enabled());
            }
            tx.audit(&NewAuditEntry::on(AuditAction::TOTP_SET_UP, account.id).session(session_id))
        })
        .await?;
    Ok(TotpSetup {
        secret: factor.secret().expose_secret().to_owned(),
        otpauth_url: factor.url()?.expose_secret().to_owned(),
    })
}

/// Confirms the secret with one of its codes, and creates recovery codes.
pub(crate) async fn confirm(
    app: &App,
    caller: &CurrentUser,
    request: &TotpConfirmRequest,
    context: &RequestContext,
) -> Result<RecoveryCodes, Error> {
    let user_id = caller.account.id;
    let sealed = app
        .read(move |db| queries::find_unconfirmed(db, user_id))
        .await?
        .ok_or_else(nothing_to_confirm)?;
    code_attempts::record_attempt(app, user_id, false).await?;
    let factor = TotpSecret::open(&app.sealers.second_factors, user_id, &sealed)?;
    let context = context.clone().for_caller(caller);
    let session_id = caller.token.session_id.clone();
    let Some(step) = factor.step_of(&plain(&request.code), app.clock.now()) else {
        let entry = NewAuditEntry::on(AuditAction::TOTP_REFUSED, user_id).session(&session_id);
        app.transact(&context, move |tx| tx.audit(&entry)).await?;
        return Err(Error::InvalidCredentials);
    };
    let account = caller.account.clone();
    app.transact(&context, move |tx| {
        let now = tx.now.naive_utc();
        if !queries::confirm(tx.db, user_id, &sealed, step, now)? {
            return Err(nothing_to_confirm());
        }
        let codes = replace_codes(tx, user_id)?;
        tx.audit(&NewAuditEntry::on(AuditAction::TOTP_ENABLED, user_id).session(&session_id))?;
        notify_owner(tx, &account, "second factor turned on")?;
        Ok(codes)
    })
    .await
}

pub(crate) async fn disable(
    app: &App,
    caller: &CurrentUser,
    request: TotpChangeRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    let shown = (request.password.as_str(), request.totp_code);
    let reauth = Reauthentication::verify(app, caller, shown, context, "totp disable").await?;
    reauth
        .transact(app, move |tx, account, session_id| {
            if !queries::remove(tx.db, account.id)? {
                return Err(not_enabled());
            }
            tx.audit(
                &NewAuditEntry::on(AuditAction::TOTP_DISABLED, account.id).session(session_id),
            )?;
            notify_owner(tx, account, "second factor turned off")
        })
        .await
}

/// Replaces the recovery codes. The old ones stop working.
pub(crate) async fn renew_codes(
    app: &App,
    caller: &CurrentUser,
    request: TotpChangeRequest,
    context: &RequestContext,
) -> Result<RecoveryCodes, Error> {
    let shown = (request.password.as_str(), request.totp_code);
    let reauth = Reauthentication::verify(app, caller, shown, context, "recovery codes").await?;
    reauth
        .transact(app, move |tx, account, session_id| {
            if !queries::is_on(tx.db, account.id)? {
                return Err(not_enabled());
            }
            let codes = replace_codes(tx, account.id)?;
            let entry = NewAuditEntry::on(AuditAction::RECOVERY_CODES_RENEWED, account.id);
            tx.audit(&entry.session(session_id))?;
            notify_owner(tx, account, "recovery codes")?;
            Ok(codes)
        })
        .await
}

fn replace_codes(tx: &mut Transaction<'_>, user_id: UserId) -> Result<RecoveryCodes, Error> {
    let codes = RecoveryCode::generate_set();
    let hashes: Vec<_> = codes.iter().map(|code| code.hash(user_id)).collect();
    queries::replace_codes(tx.db, user_id, &hashes)?;
    let recovery_codes = codes.iter().map(RecoveryCode::expose).collect();
    Ok(RecoveryCodes { recovery_codes })
}

fn already_enabled() -> Error {
    Error::Validation("the second factor is already on; turn it off first".into())
}

fn not_enabled() -> Error {
    Error::Validation("the second factor is not on".into())
}

fn nothing_to_confirm() -> Error {
    Error::Validation("there is nothing to confirm; set up a second factor first".into())
}
