use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::QueryResult;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::wire::{ForgotRequest, ResetRequest};
use super::{email, notify_owner, queries};
use crate::accounts::model::AccountRow;
use crate::accounts::model::UNVERIFIED_CLAIM;
use crate::accounts::{self, Email, Username};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::mail_links::{self, Purpose};
use crate::passwords::{Password, own_words};
use crate::rate_limits::{AccountLimit, AddressLimit};
use crate::request_context::RequestContext;
use crate::sessions;

/// Responses whose timing must reveal nothing are sent at multiples of this interval. The work itself takes a few
/// milliseconds, with or without a mail.
const BEAT: Duration = Duration::from_millis(250);

/// The account whose password was forgotten, by its name or address in lower case.
enum ResetTarget {
    Username(String),
    Email(String),
    /// A name or address that no account can have.
    Nobody,
}

/// Mails a reset link if the account exists and its address is trusted. The caller learns neither: the response comes
/// at the same time in every case. It comes after the link has been committed, so that no link is lost.
pub(crate) async fn forgot(
    app: &App,
    request: ForgotRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    app.rate_limits
        .check_address(AddressLimit::Link, context.address)?;
    let target = match (request.username, request.email) {
        (Some(name), None) => Username::parse(&name).map_or(ResetTarget::Nobody, |name| {
            ResetTarget::Username(name.lower())
        }),
        (None, Some(email)) => Email::parse(&email).map_or(ResetTarget::Nobody, |email| {
            ResetTarget::Email(email.lower())
        }),
        _ => return Err(Error::Validation("username or email is required".into())),
    };
    let begun = Instant::now();
    let mailed = mail_link(app, target, context).await;
    let beats = begun.elapsed().as_millis() / BEAT.as_millis() + 1;
    sleep_until(begun + BEAT.saturating_mul(beats.try_into().unwrap_or(u32::MAX))).await;
    mailed
}

async fn mail_link(app: &App, target: ResetTarget, context: &RequestContext) -> Result<(), Error> {
    let now = app.clock.now_naive();
    let found = app.read(move |db| find_recipient(db, &target, now)).await?;
    let user_id = found.as_ref().map(|(account, _)| account.id);
    let recipient = found
        .filter(|(account, reachable)| {
            let limits = &app.rate_limits;
            *reachable
                && limits
                    .check_account(AccountLimit::ResetMail, account.id)
                    .is_ok()
        })
        .map(|(account, _)| account);
    let entry = match user_id {
        Some(user_id) => NewAuditEntry::on(AuditAction::PASSWORD_RESET_REQUESTED, user_id),
        None => NewAuditEntry::new(AuditAction::PASSWORD_RESET_REQUESTED),
    };
    let entry = entry.details(json!({ "mailed": recipient.is_some() }));
    app.transact(context, move |tx| {
        tx.audit(&entry)?;
        match recipient {
            Some(account) => {
                // The account is locked first, as in every transaction that withdraws links.
                accounts::queries::lock_account(tx.db, account.id)?;
                mail_links::send(tx, Purpose::ResetPassword, &account, &account.email)
            }
            None => Ok(()),
        }
    })
    .await
}

/// Returns the account, and whether a reset link may be mailed to its address.
fn find_recipient(
    db: &mut Db,
    target: &ResetTarget,
    now: NaiveDateTime,
) -> QueryResult<Option<(AccountRow, bool)>> {
    let account = match target {
        ResetTarget::Nobody => None,
        ResetTarget::Username(name) => accounts::queries::find_by_name(db, name)?,
        ResetTarget::Email(email) => match queries::find_claimant(db, email, now)? {
            Some(id) => {
                accounts::queries::find_account(db, id)?.filter(|account| account.has_email(email))
            }
            None => None,
        },
    };
    let Some(account) = account.filter(|account| account.is_active) else {
        return Ok(None);
    };
    let email_lower = account.email_lower();
    let confirmed = queries::find_confirmed(db, &email_lower, account.id)? == Some(true);
    let reachable = (account.email_verified && confirmed) || {
        // The address of the registration is trusted for a day, unless it was changed. Only its claim expires exactly
        // one day after the account was created.
        let until = account.created_at + UNVERIFIED_CLAIM;
        until > now && queries::claims_until(db, &email_lower, account.id, until)?
    };
    Ok(Some((account, reachable)))
}

/// Sets a new password with a mailed link, once, and ends all sessions of the account. Using the link verifies the
/// address. An invalid password does not use up the link. One bcrypt hash is computed whether or not the link is
/// valid.
pub(crate) async fn reset(
    app: &App,
    request: ResetRequest,
    context: &RequestContext,
) -> Result<(), Error> {
    app.rate_limits
        .check_address(AddressLimit::Link, context.address)?;
    let password = Password::parse_new(&request.new_password)?;
    let (token, now) = (request.token.clone(), app.clock.now_naive());
    let holder = app
        .read(move |db| mail_links::find_holder(db, Purpose::ResetPassword, &token, now))
        .await?;
    let words = holder.map_or_else(Vec::new, |(account, _)| {
        own_words(&account.username, Some(&account.email))
    });
    let hash = app.passwords.hash(password, words).await?;
    let done = app
        .transact(context, move |tx| {
            let (user_id, address) =
                mail_links::redeem(tx, Purpose::ResetPassword, &request.token)?;
            // Under the account's lock, so that no concurrent sign-in escapes.
            accounts::queries::set_hash(tx.db, user_id, &hash)?;
            // The link was for the owner of that address, and is void once the account has another one.
            let account = accounts::queries::find_account(tx.db, user_id)?
                .filter(|account| account.is_active && account.email == address)
                .ok_or(Error::InvalidLink)?;
            if !account.email_verified {
                email::mark_verified(tx, user_id, &address, true)?;
            }
            sessions::end_all(tx, user_id, None, None)?;
            mail_links::withdraw(tx, user_id, &account.email)?;
            notify_owner(tx, &account, "password")?;
            tx.audit(&NewAuditEntry::on(AuditAction::PASSWORD_RESET, user_id))?;
            Ok(account)
        })
        .await;
    match done {
        Ok(account) => {
            let username = account.username.to_ascii_lowercase();
            app.rate_limits.login_succeeded(context.address, &username);
            Ok(())
        }
        Err(Error::InvalidLink) => {
            let entry = NewAuditEntry::new(AuditAction::PASSWORD_RESET_REFUSED);
            app.transact(context, move |tx| tx.audit(&entry)).await?;
            Err(Error::InvalidLink)
        }
        Err(error) => Err(error),
    }
}
