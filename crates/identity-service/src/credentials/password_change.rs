use super::wire::ChangePasswordRequest;
use super::{Reauthentication, notify_owner};
use crate::accounts;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::mail_links;
use crate::passwords::{Password, own_words};
use crate::request_context::RequestContext;
use crate::sessions;

/// Replaces the caller's password. Ends all their other sessions and withdraws every mail link, so that nobody with
/// the old password keeps access.
pub(crate) async fn change(
    app: &App,
    caller: &CurrentUser,
    request: ChangePasswordRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    let password = Password::parse_new(&request.new_password)?;
    let shown = (request.current_password.as_str(), request.totp_code);
    let reauth = Reauthentication::verify(app, caller, shown, context, "password change").await?;
    let account = &caller.account;
    let words = own_words(&account.username, Some(&account.email));
    let hash = app.passwords.hash(password, words).await?;
    reauth
        .transact(app, move |tx, account, session_id| {
            accounts::queries::set_hash(tx.db, account.id, &hash)?;
            sessions::end_all(tx, account.id, Some(session_id), None)?;
            mail_links::withdraw(tx, account.id, &account.email)?;
            notify_owner(tx, account, "password")?;
            tx.audit(
                &NewAuditEntry::on(AuditAction::PASSWORD_CHANGED, account.id).session(session_id),
            )
        })
        .await
}
