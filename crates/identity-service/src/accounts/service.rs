use auth_types::wire::{TokenPair, User};
use auth_types::{AccountRole, UserId};
use chrono::Duration;
use db_kit::DbError;

use super::creation::{check_free, create_account};
use super::model::{AccountRow, Viewer};
use super::queries;
use super::wire::RegisterRequest;
use super::{Email, Username};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::passwords::{Password, own_words};
use crate::request_context::RequestContext;
use crate::sessions::{self, NewSession};
use crate::token_access::{Grant, TokenAccess};

/// The maximum age of the cached number of accounts.
const COUNT_MAX_AGE: Duration = Duration::seconds(5);
/// The maximum wait for another request that is counting.
const COUNT_MAX_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

/// Creates an account and signs it in.
pub(crate) async fn register(
    app: &App,
    request: RegisterRequest,
    context: &RequestContext,
) -> Result<TokenPair, Error> {
    let (account, session) = open(app, request, Grant::FirstParty, context).await?;
    session.token_pair(app, &account).await
}

/// Creates an account and opens a session for it.
pub(crate) async fn open(
    app: &App,
    request: RegisterRequest,
    grant: Grant,
    context: &RequestContext,
) -> Result<(AccountRow, NewSession), Error> {
    let username = Username::parse(&request.username)?;
    let password = Password::parse_new(&request.password)?;
    let email = request.email.as_deref().map(Email::parse).transpose()?;
    check_free(app, &username).await?;
    let words = own_words(username.as_str(), email.as_ref().map(Email::as_str));
    let password_hash = app.passwords.hash(password, words).await?;
    let session = NewSession::open(grant, app.clock.now_naive(), context);
    app.transact(context, move |tx| {
        sessions::lock_replaced(tx, None)?;
        let account = create_account(tx, &username, email.as_ref(), &password_hash)?;
        sessions::end_replaced(tx, account.id, &session)?;
        sessions::queries::insert_session(tx.db, account.id, &session)?;
        tx.audit(&NewAuditEntry::on(AuditAction::REGISTERED, account.id).session(&session.id))?;
        Ok((account, session))
    })
    .await
}

/// Returns an account as `viewer`, or an anonymous caller, may see it.
pub(crate) async fn get_user(
    app: &App,
    id: UserId,
    viewer: Option<&CurrentUser>,
) -> Result<User, Error> {
    let account = app
        .read(move |db| queries::find_account(db, id))
        .await?
        .ok_or(Error::UserNotFound)?;
    let privileged = match viewer {
        Some(viewer) => {
            // Tokens of SSO sessions and OAuth clients do not administer.
            viewer.account.id == id
                || (viewer.token.access == TokenAccess::Full
                    && viewer.account.role()? == AccountRole::Superadmin
                    && crate::auth::has_factor_of_admin(app, viewer).await?)
        }
        None => false,
    };
    if !account.is_active && !privileged {
        return Err(Error::UserNotFound);
    }
    let viewer = viewer
        .filter(|_| privileged)
        .map_or(Viewer::STRANGER, CurrentUser::of_themselves);
    account.to_user(viewer, app.clock.now_naive(), &app.base_url)
}

/// Returns the number of active accounts, cached for a few seconds because anybody may request it and counting is slow.
pub(crate) async fn count_users(app: &App) -> Result<i64, Error> {
    let now = app.clock.now_naive();
    // One request counts for all that wait. The wait is as limited as that for a connection: with an unreachable
    // database, each request would otherwise wait for the failures of all those before it.
    let mut counted = tokio::time::timeout(COUNT_MAX_WAIT, app.user_count.lock())
        .await
        .map_err(|_| DbError::Busy)?;
    if let Some((at, count)) = *counted
        && at <= now
        && now - at < COUNT_MAX_AGE
    {
        return Ok(count);
    }
    let count = app.read(queries::count_active).await?;
    *counted = Some((now, count));
    Ok(count)
}
