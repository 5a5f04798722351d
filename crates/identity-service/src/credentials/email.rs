use auth_types::UserId;
use event_types::MailTemplate;

use super::wire::{ChangeEmailRequest, VerifyEmailRequest};
use super::{Reauthentication, queries};
use crate::accounts::queries::{EmailClaim, claim_email};
use crate::accounts::{self, Email};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::mail_links::{self, Purpose};
use crate::rate_limits::{AccountLimit, AddressLimit};
use crate::request_context::RequestContext;
use crate::transaction::Transaction;

/// Mails a verification link to a new address, which becomes the caller's once they have opened the link. For the
/// current, unverified address, the link is sent again.
pub(crate) async fn change(
    app: &App,
    caller: &CurrentUser,
    request: ChangeEmailRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    let email = Email::parse(&request.email)?;
    let shown = (request.password.as_str(), request.totp_code);
    let reauth = Reauthentication::verify(app, caller, shown, context, "email change").await?;
    app.rate_limits
        .check_account(AccountLimit::NewAddress, caller.account.id)?;
    reauth
        .transact(app, move |tx, account, session_id| {
            // The password confirms an address that was given without it, so that reset links may go there.
            queries::confirm(tx.db, &email.lower(), account.id)?;
            if account.email_verified && account.email == email.as_str() {
                return Ok(());
            }
            let now = tx.now.naive_utc();
            if queries::is_claimed_by_other(tx.db, &email.lower(), account.id, now)? {
                return Err(Error::EmailTaken);
            }
            mail_links::send(tx, Purpose::VerifyEmail, account, email.as_str())?;
            let entry = NewAuditEntry::on(AuditAction::EMAIL_CHANGE_REQUESTED, account.id);
            tx.audit(&entry.session(session_id))
        })
        .await
}

/// Verifies the address that the link was mailed to. Accounts that only claimed it lose it; one that has verified it
/// before keeps it.
pub(crate) async fn verify(
    app: &App,
    request: VerifyEmailRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    app.rate_limits
        .check_address(AddressLimit::Link, context.address)?;
    app.transact(context, move |tx| {
        let (user_id, email) = mail_links::redeem(tx, Purpose::VerifyEmail, &request.token)?;
        let before = accounts::queries::find_account(tx.db, user_id)?
            .filter(|account| account.is_active)
            .ok_or(Error::InvalidLink)?;
        let email_lower = email.to_ascii_lowercase();
        // If there is no claim to the address, it was requested with the password.
        let confirmed = queries::find_confirmed(tx.db, &email_lower, user_id)?.unwrap_or(true);
        mark_verified(tx, user_id, &email, confirmed)?;
        if before.email_verified && !before.has_email(&email_lower) {
            tx.audit(&NewAuditEntry::on(AuditAction::EMAIL_CHANGED, user_id))?;
            let text = MailTemplate::EmailChanged {
                username: before.username,
                new_address_hint: hint(&email),
                at: tx.now,
            };
            tx.mail(&before.email, text)?;
        }
        Ok(())
    })
    .await
}

/// Records a verified address, unless another account has verified it before. `confirmed` says whether the password
/// was presented, or chosen, with it. The caller has locked the account.
pub(super) fn mark_verified(
    tx: &mut Transaction<'_>,
    user_id: UserId,
    email: &str,
    confirmed: bool,
) -> Result<(), Error> {
    let email_lower = email.to_ascii_lowercase();
    let now = tx.now.naive_utc();
    let claim = EmailClaim {
        email_lower: email_lower.clone(),
        user_id,
        expires_at: None,
        confirmed,
        now,
    };
    if !claim_email(tx.db, &claim)? {
        return Err(Error::InvalidLink);
    }
    release_other_claims(tx, &email_lower, user_id)?;
    queries::remove_other_claims(tx.db, user_id, &email_lower)?;
    queries::set_verified_email(tx.db, user_id, email, now)?;
    mail_links::withdraw(tx, user_id, email)?;
    tx.user_changed(user_id)?;
    tx.audit(&NewAuditEntry::on(AuditAction::EMAIL_VERIFIED, user_id))
}

/// Replaces the address by the placeholder in all other accounts that have it.
fn release_other_claims(
    tx: &mut Transaction<'_>,
    email_lower: &str,
    user_id: UserId,
) -> Result<(), Error> {
    let now = tx.now.naive_utc();
    for (loser, placeholder) in queries::take_email(tx.db, email_lower, user_id, now)? {
        // Links that were mailed to the address may be read by its owner, but not used.
        mail_links::withdraw(tx, loser, &placeholder)?;
        tx.user_changed(loser)?;
        tx.audit(&NewAuditEntry::on(AuditAction::EMAIL_LOST, loser))?;
    }
    Ok(())
}

/// Returns enough of an address for its owner to recognise it: `a…@e….org`.
fn hint(email: &str) -> String {
    let first = |text: &str| text.chars().next().map(String::from).unwrap_or_default();
    let (local, domain) = email.split_once('@').unwrap_or((email, ""));
    let end = domain.rsplit_once('.').map_or("", |(_, end)| end);
    format!("{}…@{}….{end}", first(local), first(domain))
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn a_hint_reveals_only_initials_and_the_top_level_domain() {
        assert_eq!(hint("ada.lovelace@mail.example.org"), "a…@m….org");
        assert_eq!(hint("a@b.example"), "a…@b….example");
        assert_eq!(hint("root@localhost"), "r…@l….");
    }
}
