//! The commands of `admin users`.

mod args;
mod find;
mod show;

use auth_types::{AccountRole, PremiumTier};
use chrono::{DateTime, Utc};

use self::args::UserArg;
pub(super) use self::args::UsersCommand;
use self::find::find;
pub(super) use self::find::find_named;
use self::show::{described, listed, named, plan, status, with_password_line};
use super::context::{CommandError, Context};
use crate::accounts::{Email, Username};
use crate::admin::model::{NewUser, UserUpdate};
use crate::admin::service;
use crate::admin::wire::{AdminUser, AdminUserResponse, SearchQuery, UpdateUserRequest};
use crate::passwords::Password;
use service_kit::cli::output::count;

pub(super) async fn run(context: &Context, command: UsersCommand) -> Result<(), CommandError> {
    match command {
        UsersCommand::Create {
            username,
            email,
            superadmin,
            password,
        } => {
            let new = NewUser {
                username: Username::parse(&username)?,
                email: email.as_deref().map(Email::parse).transpose()?,
                password: password.read()?,
                role: if superadmin {
                    AccountRole::Superadmin
                } else {
                    AccountRole::User
                },
            };
            create(context, new).await
        }
        UsersCommand::List {
            text,
            role,
            premium,
            active,
            inactive,
            limit,
            after,
        } => {
            let search = SearchQuery {
                q: text,
                role,
                premium_tier: premium,
                is_active: (active || inactive).then_some(active),
                cursor: after,
                limit: Some(limit),
            };
            context.show(&service::search(&context.app, search).await?, listed)
        }
        UsersCommand::Show(user) => show(context, &user).await,
        UsersCommand::Promote(user) => set_role(context, &user, AccountRole::Superadmin).await,
        UsersCommand::Demote(user) => set_role(context, &user, AccountRole::User).await,
        UsersCommand::SetPremium { user, tier, until } => {
            set_premium(context, &user, tier, until).await
        }
        UsersCommand::Deactivate(user) => set_active(context, &user, false).await,
        UsersCommand::Activate(user) => set_active(context, &user, true).await,
        UsersCommand::ResetPassword { user, password } => {
            reset_password(context, &user, password.read()?).await
        }
        UsersCommand::RemoveTotp(user) => remove_totp(context, &user).await,
        UsersCommand::RevokeSessions(user) => revoke_sessions(context, &user).await,
    }
}

async fn create(context: &Context, new: NewUser) -> Result<(), CommandError> {
    let made = service::create(&context.app, new, &context.request).await?;
    context.show(&made, |made| {
        let role = made.user.user.role;
        let line = format!("{} was created, {}.", named(&made.user), role.as_str());
        with_password_line(line, made)
    })
}

async fn show(context: &Context, user: &UserArg) -> Result<(), CommandError> {
    let account = find(context, user).await?;
    let user = service::get(&context.app, account.id).await?;
    context.show(&AdminUserResponse { user }, |shown| described(&shown.user))
}

async fn set_role(
    context: &Context,
    user: &UserArg,
    role: AccountRole,
) -> Result<(), CommandError> {
    let changes = UpdateUserRequest {
        role: Some(role),
        ..UpdateUserRequest::default()
    };
    change(context, user, changes, |user| {
        format!("is {}", user.user.role.as_str())
    })
    .await
}

async fn set_premium(
    context: &Context,
    user: &UserArg,
    tier: PremiumTier,
    until: Option<DateTime<Utc>>,
) -> Result<(), CommandError> {
    if tier == PremiumTier::Free && until.is_some() {
        return Err(CommandError::Usage(
            "--until requires --tier PREMIUM: FREE has no end".into(),
        ));
    }
    let changes = UpdateUserRequest {
        premium_tier: Some(tier),
        premium_expires_at: Some(until),
        ..UpdateUserRequest::default()
    };
    change(context, user, changes, |user| format!("has {}", plan(user))).await
}

async fn set_active(context: &Context, user: &UserArg, active: bool) -> Result<(), CommandError> {
    let changes = UpdateUserRequest {
        is_active: Some(active),
        ..UpdateUserRequest::default()
    };
    change(context, user, changes, |user| {
        format!("is {}", status(user))
    })
    .await
}

/// Changes an account and reports its new state. A change without effect is reported as such, and is not an error.
async fn change(
    context: &Context,
    user: &UserArg,
    changes: UpdateUserRequest,
    now: impl FnOnce(&AdminUser) -> String,
) -> Result<(), CommandError> {
    let account = find(context, user).await?;
    let updated = service::update(&context.app, account.id, changes, &context.request).await?;
    print_change(context, &updated, now)
}

async fn remove_totp(context: &Context, user: &UserArg) -> Result<(), CommandError> {
    let account = find(context, user).await?;
    let updated = service::remove_totp(&context.app, account.id, &context.request).await?;
    print_change(context, &updated, |_| "has no second factor".to_owned())
}

fn print_change(
    context: &Context,
    updated: &UserUpdate,
    now: impl FnOnce(&AdminUser) -> String,
) -> Result<(), CommandError> {
    context.show(updated, |changed| {
        let (who, now) = (named(&changed.user), now(&changed.user));
        match (changed.changed, changed.sessions_ended) {
            (false, _) => format!("{who} {now} already; nothing was changed."),
            (true, 0) => format!("{who} {now} now."),
            (true, n) => format!("{who} {now} now; {} ended.", count(n, "session")),
        }
    })
}

async fn reset_password(
    context: &Context,
    user: &UserArg,
    password: Option<Password>,
) -> Result<(), CommandError> {
    let account = find(context, user).await?;
    let reset =
        service::reset_password(&context.app, account.id, password, &context.request).await?;
    context.show(&reset, |reset| {
        let ended = count(reset.sessions_ended, "session");
        let line = format!("{} has a new password; {ended} ended.", named(&reset.user));
        with_password_line(line, reset)
    })
}

async fn revoke_sessions(context: &Context, user: &UserArg) -> Result<(), CommandError> {
    let account = find(context, user).await?;
    let sessions_ended =
        service::revoke_sessions(&context.app, account.id, &context.request).await?;
    let revoked = UserUpdate {
        changed: sessions_ended > 0,
        sessions_ended,
        user: service::get(&context.app, account.id).await?,
    };
    context.show(&revoked, |revoked| {
        let ended = count(revoked.sessions_ended, "session");
        format!("{ended} of {} ended.", named(&revoked.user))
    })
}
