use auth_types::UserId;
use auth_types::wire::{User, is_placeholder};

use super::field_rules::{check_bio, check_website, check_zoneinfo, parse_locale};
use super::queries::{self, ProfileChanges};
use super::wire::UpdateProfileRequest;
use crate::accounts::model::AccountRow;
use crate::accounts::{self, Email};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::names::parse_name_in;
use crate::photos::model::NewPhoto;
use crate::photos::{self, source};
use crate::rate_limits::AccountLimit;
use crate::request_context::RequestContext;
use crate::token_access::TokenAccess;
use crate::transaction::Transaction;

enum PhotoChange {
    Keep,
    Remove,
    Replace(NewPhoto),
}

/// Updates the caller's profile, completely or not at all.
///
/// # Errors
/// [`Error::InsufficientScope`] for an e-mail address, unless the token belongs to a sign-in at the product itself.
pub(crate) async fn update_user(
    app: &App,
    caller: &CurrentUser,
    mut request: UpdateProfileRequest,
    context: RequestContext,
) -> Result<User, Error> {
    if request.email.is_some() && caller.token.access != TokenAccess::Full {
        return Err(Error::InsufficientScope);
    }
    let (id, context) = (caller.account.id, context.for_caller(caller));
    let photo = prepare(app, id, &mut request).await?;
    let account = app
        .transact(&context, move |tx| apply(tx, id, &request, &photo))
        .await?;
    let now = app.clock.now_naive();
    account.to_user(caller.of_themselves(), now, &app.base_url)
}

/// Checks the request, as far as that needs no transaction, and loads the photo. The photo comes last, so that no server
/// is called for a request that is refused anyway.
async fn prepare(
    app: &App,
    id: UserId,
    request: &mut UpdateProfileRequest,
) -> Result<PhotoChange, Error> {
    if let Some(Some(display_name)) = &mut request.display_name {
        *display_name = parse_name_in("display_name", display_name)?;
    }
    if let Some(Some(locale)) = &mut request.locale {
        *locale = parse_locale(locale)?;
    }
    if let Some(Some(zoneinfo)) = &request.zoneinfo {
        check_zoneinfo(zoneinfo)?;
    }
    if let Some(Some(bio)) = &request.bio {
        check_bio(bio)?;
    }
    if let Some(Some(website_url)) = &request.website_url {
        check_website(website_url)?;
    }
    // Not from the cache: another process may just have changed the address of the photo.
    let account = app
        .read(move |db| accounts::queries::find_account(db, id))
        .await?
        .ok_or(Error::TokenRevoked)?;
    if let Some(email) = &request.email {
        new_email(&account, email)?;
    }
    Ok(match request.profile_photo_url.take() {
        None => PhotoChange::Keep,
        Some(None) => PhotoChange::Remove,
        Some(address) if address == account.photo_url(&app.base_url) => PhotoChange::Keep,
        Some(Some(address)) => {
            app.rate_limits.check_account(AccountLimit::Photo, id)?;
            PhotoChange::Replace(source::photo_at(&app.photos, id, address).await?)
        }
    })
}

/// Returns the address to set, or `None` if the account already has it.
fn new_email(account: &AccountRow, email: &str) -> Result<Option<Email>, Error> {
    let parsed = Email::parse(email);
    let is_unchanged = |text: &str| account.email.eq_ignore_ascii_case(text);
    // A placeholder is no valid address, so the text itself is compared too.
    if is_unchanged(email)
        || parsed
            .as_ref()
            .is_ok_and(|email| is_unchanged(email.as_str()))
    {
        return Ok(None);
    }
    if !is_placeholder(&account.email) {
        return Err(Error::EmailNotUpdatable);
    }
    parsed.map(Some)
}

fn apply(
    tx: &mut Transaction<'_>,
    id: UserId,
    request: &UpdateProfileRequest,
    photo: &PhotoChange,
) -> Result<AccountRow, Error> {
    // The account was deleted or deactivated after the token was checked.
    let account = accounts::queries::lock_active(tx.db, id)?.ok_or(Error::TokenRevoked)?;
    let email = match &request.email {
        Some(email) => new_email(&account, email)?,
        None => None,
    };
    let differs = |new: &Option<Option<String>>, old: &Option<String>| {
        new.as_ref().is_some_and(|new| new != old)
    };
    let mut changed = email.is_some()
        || differs(&request.display_name, &account.display_name)
        || differs(&request.locale, &account.locale)
        || differs(&request.zoneinfo, &account.zoneinfo)
        || differs(&request.bio, &account.bio)
        || differs(&request.website_url, &account.website_url);
    if changed {
        let changes = ProfileChanges {
            display_name: request.display_name.as_ref().map(Option::as_deref),
            bio: request.bio.as_ref().map(Option::as_deref),
            website_url: request.website_url.as_ref().map(Option::as_deref),
            locale: request.locale.as_ref().map(Option::as_deref),
            zoneinfo: request.zoneinfo.as_ref().map(Option::as_deref),
            email: email.as_ref().map(Email::as_str),
            email_verified: email.is_some().then_some(false),
            updated_at: tx.now.naive_utc(),
        };
        queries::update_profile(tx.db, id, &changes)?;
    }
    if let Some(email) = &email {
        // The claim is unconfirmed, because no password was checked.
        accounts::creation::claim_email(tx, &account, email, false)?;
        tx.audit(&NewAuditEntry::on(AuditAction::EMAIL_SET, id))?;
    }
    changed |= match photo {
        PhotoChange::Keep => false,
        PhotoChange::Remove => photos::queries::clear(tx.db, id, tx.now.naive_utc())?,
        PhotoChange::Replace(photo) => {
            let now = tx.now.naive_utc();
            photos::queries::set(tx.db, id, photo, now)?.ok_or(Error::TokenRevoked)?;
            true
        }
    };
    if !changed {
        return Ok(account);
    }
    tx.user_changed(id)?;
    accounts::queries::find_account(tx.db, id)?.ok_or(Error::TokenRevoked)
}
