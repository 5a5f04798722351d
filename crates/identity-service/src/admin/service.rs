use std::borrow::Cow;

use auth_types::{AccountRole, UserId};
use chrono::{NaiveDateTime, SecondsFormat};
use db_kit::Db;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::model::{AccountChanges, NewUser, SessionCounts, UserUpdate, generate_password};
use super::queries;
use super::wire::{AdminUser, AdminUserList, PasswordResponse, SearchQuery, UpdateUserRequest};
use crate::accounts::creation::{check_free, create_account};
use crate::accounts::model::{AccountRow, PremiumPlan, Viewer};
use crate::accounts::{self, Email, ascii_domain};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::credentials::notify_owner;
use crate::error::Error;
use crate::mail_links;
use crate::pagination::page_size;
use crate::passwords::{Password, own_words};
use crate::request_context::{RequestChannel, RequestContext};
use crate::sessions;
use crate::totp;

pub(crate) async fn search(app: &App, mut search: SearchQuery) -> Result<AdminUserList, Error> {
    let limit = page_size(search.limit)?;
    search.q = search
        .q
        .map(|text| text_to_look_for(&text))
        .filter(|text| !text.is_empty());
    let now = app.clock.now_naive();
    let (profiles, next_cursor) = app
        .pool
        .read(move |db| {
            let mut rows = queries::search(db, &search, limit, now)?;
            let more = rows.len() > usize::from(limit);
            rows.truncate(limit.into());
            let next = rows.last().filter(|_| more).map(|row| row.id);
            Ok::<_, Error>((profiles(db, rows, now)?, next))
        })
        .await?;
    let users = profiles.iter().map(|profile| shown(app, profile));
    Ok(AdminUserList {
        users: users.collect::<Result<_, _>>()?,
        next_cursor,
    })
}

/// Normalises a search text to the ASCII form in which names and addresses are stored.
fn text_to_look_for(typed: &str) -> String {
    let typed = typed.trim();
    let ascii = |domain| ascii_domain(domain).unwrap_or(Cow::Borrowed(domain));
    match typed.rsplit_once('@') {
        Some((local, domain)) => format!("{local}@{}", ascii(domain)),
        None => ascii(typed).into_owned(),
    }
}

/// Returns an account, active or not.
pub(crate) async fn get(app: &App, id: UserId) -> Result<AdminUser, Error> {
    let now = app.clock.now_naive();
    let profile = app.pool.read(move |db| profile(db, id, now)).await?;
    shown(app, &profile)
}

/// Creates an account without signing it in.
pub(crate) async fn create(
    app: &App,
    new: NewUser,
    context: &RequestContext,
) -> Result<PasswordResponse, Error> {
    check_free(app, &new.username).await?;
    let words = own_words(new.username.as_str(), new.email.as_ref().map(Email::as_str));
    let (generated, hash) = hash(app, new.password, words).await?;
    let (username, email, role) = (new.username, new.email, new.role);
    let profile = app
        .transact(context, move |tx| {
            let now = tx.now.naive_utc();
            let account = create_account(tx, &username, email.as_ref(), &hash)?;
            if role != AccountRole::User {
                queries::set_role(tx.db, account.id, role)?;
            }
            let details = json!({ "role": role });
            tx.audit(&NewAuditEntry::on(AuditAction::USER_CREATED, account.id).details(details))?;
            profile(tx.db, account.id, now)
        })
        .await?;
    with_password(app, &profile, generated, 0)
}

/// Changes role, plan or active state. Without an effective change nothing is written. Deactivating an account ends
/// all its sessions in the same transaction.
pub(crate) async fn update(
    app: &App,
    id: UserId,
    changes: UpdateUserRequest,
    context: &RequestContext,
) -> Result<UserUpdate, Error> {
    let loses = changes.is_active == Some(false) || changes.role == Some(AccountRole::User);
    if loses && is_self(context, id) {
        return Err(Error::Forbidden(
            "you cannot remove your own rights or deactivate yourself; another SUPERADMIN or the command line can",
        ));
    }
    let done = app.transact(context, move |tx| {
        let now = tx.now.naive_utc();
        if loses {
            // If two administrators demote each other at once, the first succeeds and the second has lost the role.
            queries::lock_superadmins(tx.db)?;
            tx.check_session()?;
        }
        let before = accounts::queries::lock_account(tx.db, id)?.ok_or(Error::UserNotFound)?;
        let (old_role, old_plan) = (before.role()?, before.plan()?);
        let role = changes.role.unwrap_or(old_role);
        let is_active = changes.is_active.unwrap_or(before.is_active);
        let plan = old_plan.changed(&changes, now)?;
        let entries = [
            (role != old_role).then(|| role_entry(id, old_role, role)),
            (plan != old_plan).then(|| plan_entry(id, old_plan, plan)),
            (is_active != before.is_active).then(|| activation_entry(id, is_active)),
        ];
        let changed = entries.iter().any(Option::is_some);
        let mut sessions_ended = 0;
        if changed {
            let columns = AccountChanges {
                is_active,
                role: role.as_str(),
                premium_tier: plan.tier.as_str(),
                premium_expires_at: plan.expires_at,
                updated_at: now,
            };
            queries::update_account(tx.db, id, &columns)?;
            for entry in entries.iter().flatten() {
                tx.audit(entry)?;
            }
            if !is_active {
                sessions_ended = sessions::end_all(tx, id, None, Some("deactivated"))?;
                // Otherwise a mail link on its way would outlive the deactivation.
                mail_links::withdraw(tx, id, &before.email)?;
            }
            tx.user_changed(id)?;
        }
        Ok((profile(tx.db, id, now)?, changed, sessions_ended))
    });
    let (profile, changed, sessions_ended) = done.await?;
    Ok(UserUpdate {
        changed,
        sessions_ended,
        user: shown(app, &profile)?,
    })
}

/// Sets a new password and ends all sessions of the account.
pub(crate) async fn reset_password(
    app: &App,
    id: UserId,
    password: Option<Password>,
    context: &RequestContext,
) -> Result<PasswordResponse, Error> {
    if is_self(context, id) {
        return Err(Error::Forbidden(
            "change your own password with the current one, at /api/auth/password/change",
        ));
    }
    let user = get(app, id).await?.user;
    let words = own_words(&user.username, user.email.as_deref());
    let (generated, hash) = hash(app, password, words).await?;
    let (profile, sessions_ended) = app
        .transact(context, move |tx| {
            // Locks the account: a concurrent sign-in with the old password is either ended below or rejected.
            if !accounts::queries::set_hash(tx.db, id, &hash)? {
                return Err(Error::UserNotFound);
            }
            let account = accounts::queries::find_account(tx.db, id)?.ok_or(Error::UserNotFound)?;
            // Somebody with the old password may also have requested another address with it.
            mail_links::withdraw(tx, id, &account.email)?;
            tx.audit(&NewAuditEntry::on(AuditAction::USER_PASSWORD_RESET, id))?;
            notify_owner(tx, &account, "password")?;
            let ended = sessions::end_all(tx, id, None, Some("password_reset"))?;
            Ok((profile(tx.db, id, tx.now.naive_utc())?, ended))
        })
        .await?;
    with_password(app, &profile, generated, sessions_ended)
}

/// Ends all sessions of an account and returns their number.
pub(crate) async fn revoke_sessions(
    app: &App,
    id: UserId,
    context: &RequestContext,
) -> Result<usize, Error> {
    app.transact(context, move |tx| {
        accounts::queries::lock_account(tx.db, id)?.ok_or(Error::UserNotFound)?;
        sessions::end_all(tx, id, None, Some("revoked_by_administration"))
    })
    .await
}

/// Removes the second factor of an account whose owner has lost it. Only for the command line: a stolen SUPERADMIN
/// token must not get past the second factors of others.
pub(crate) async fn remove_totp(
    app: &App,
    id: UserId,
    context: &RequestContext,
) -> Result<UserUpdate, Error> {
    let done = app.transact(context, move |tx| {
        let account = accounts::queries::lock_account(tx.db, id)?.ok_or(Error::UserNotFound)?;
        let changed = totp::remove(tx.db, id)?;
        if changed {
            tx.audit(&NewAuditEntry::on(AuditAction::TOTP_DISABLED, id))?;
            notify_owner(tx, &account, "second factor turned off")?;
        }
        Ok(changed)
    });
    Ok(UserUpdate {
        changed: done.await?,
        sessions_ended: 0,
        user: get(app, id).await?,
    })
}

/// Whether an administrator changes their own account over HTTP.
fn is_self(context: &RequestContext, id: UserId) -> bool {
    context.channel == RequestChannel::Http && context.actor == Some(id)
}

/// Returns the generated password, if one was needed, and the hash.
async fn hash(
    app: &App,
    given: Option<Password>,
    words: Vec<String>,
) -> Result<(Option<SecretString>, String), Error> {
    let (generated, password) = match given {
        Some(password) => (None, password),
        None => {
            let made = generate_password();
            let password = Password::parse_new(made.expose_secret())?;
            (Some(made), password)
        }
    };
    Ok((generated, app.passwords.hash(password, words).await?))
}

/// An account with its sign-ins.
type AdminProfile = (AccountRow, SessionCounts);

/// Returns the account with everything that an administrator sees.
fn shown(app: &App, (account, sign_ins): &AdminProfile) -> Result<AdminUser, Error> {
    let now = app.clock.now_naive();
    Ok(AdminUser {
        user: account.to_user(Viewer::SELF_OR_SUPERADMIN, now, &app.base_url)?,
        premium: account.premium(|tier| app.premium.bandwidth_mb(tier), now)?,
        totp_enabled: sign_ins.totp_enabled,
        sessions: sign_ins.open,
        last_sign_in_at: sign_ins.last_at.map(|at| at.and_utc()),
    })
}

/// Returns the account with the generated password, if there is one.
fn with_password(
    app: &App,
    profile: &AdminProfile,
    generated: Option<SecretString>,
    sessions_ended: usize,
) -> Result<PasswordResponse, Error> {
    Ok(PasswordResponse {
        user: shown(app, profile)?,
        password: generated.map(|text| text.expose_secret().to_owned()),
        sessions_ended,
    })
}

fn profile(db: &mut Db, id: UserId, now: NaiveDateTime) -> Result<AdminProfile, Error> {
    let account = accounts::queries::find_account(db, id)?.ok_or(Error::UserNotFound)?;
    let mut all = profiles(db, vec![account], now)?;
    all.pop().ok_or(Error::UserNotFound)
}

fn profiles(
    db: &mut Db,
    rows: Vec<AccountRow>,
    now: NaiveDateTime,
) -> Result<Vec<AdminProfile>, Error> {
    let ids: Vec<UserId> = rows.iter().map(|row| row.id).collect();
    let mut sign_ins = queries::sign_ins(db, &ids, now)?;
    let with_sign_ins = rows.into_iter().map(|account| {
        let sign_ins = sign_ins.remove(&account.id).unwrap_or_default();
        (account, sign_ins)
    });
    Ok(with_sign_ins.collect())
}

fn role_entry(id: UserId, old: AccountRole, new: AccountRole) -> NewAuditEntry {
    let action = match new {
        AccountRole::Superadmin => AuditAction::USER_PROMOTED,
        AccountRole::User => AuditAction::USER_DEMOTED,
    };
    NewAuditEntry::on(action, id).details(json!({ "old": old, "new": new }))
}

fn plan_entry(id: UserId, old: PremiumPlan, new: PremiumPlan) -> NewAuditEntry {
    NewAuditEntry::on(AuditAction::USER_PLAN_CHANGED, id)
        .details(json!({ "old": plan_json(old), "new": plan_json(new) }))
}

fn plan_json(plan: PremiumPlan) -> Value {
    let until = plan
        .expires_at
        .map(|end| end.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true));
    json!({ "tier": plan.tier, "expires_at": until })
}

fn activation_entry(id: UserId, is_active: bool) -> NewAuditEntry {
    let action = match is_active {
        true => AuditAction::USER_ACTIVATED,
        false => AuditAction::USER_DEACTIVATED,
    };
    NewAuditEntry::on(action, id)
}
