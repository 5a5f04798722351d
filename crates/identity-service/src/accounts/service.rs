use auth_types::wire::{TokenPair, User};
use auth_types::{AccountRole, UserId};
use chrono::Duration;
use db_kit::DbError;

use super::creation::{check_free, create_account};
use super::model::{AccountRow, Viewer};
use super::queries;
use super::rules::{Email, Password, Username};
use super::wire::RegisterRequest;
use crate::access::{Access, Grant};
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::origin::Origin;
use crate::passwords::own_words;
use crate::sessions::{self, NewSession};

/// How old the number of accounts may be.
const COUNT_MAX_AGE: Duration = Duration::seconds(5);
/// How long to wait for who is counting.
const COUNT_MAX_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

/// Makes an account and signs it in.
pub(crate) async fn register(
    app: &App,
    request: RegisterRequest,
    origin: &Origin,
) -> Result<TokenPair, Error> {
    let (account, session) = open(app, request, Grant::FirstParty, origin).await?;
    session.token_pair(app, &account).await
}

/// Makes an account and opens a session of it.
pub(crate) async fn open(
    app: &App,
    request: RegisterRequest,
    grant: Grant,
    origin: &Origin,
) -> Result<(AccountRow, NewSession), Error> {
    let username = Username::parse(&request.username)?;
    let password = Password::parse_new(&request.password)?;
    let email = request.email.as_deref().map(Email::parse).transpose()?;
    check_free(app, &username).await?;
    let words = own_words(username.as_str(), email.as_ref().map(Email::as_str));
    let password_hash = app.passwords.hash(password, words).await?;
    let session = NewSession::open(grant, app.clock.now_naive(), origin);
    app.change(origin, move |change| {
        let account = create_account(change, &username, email.as_ref(), &password_hash)?;
        sessions::end_replaced(change)?;
        sessions::queries::insert_session(change.db, account.id, &session)?;
        change.audit(&Entry::on(Action::REGISTERED, account.id).session(&session.id))?;
        Ok((account, session))
    })
    .await
}

/// What `viewer`, or nobody in particular, may see of an account.
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
            // What was handed over or given to a client does not administer.
            viewer.account.id == id
                || (viewer.token.access == Access::Full
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
        .map_or(Viewer::Other, CurrentUser::of_themselves);
    account.to_user(viewer, app.clock.now_naive(), &app.base_url)
}

/// The number of active accounts, remembered for a few seconds: anybody may ask, and counting is not free.
pub(crate) async fn count_users(app: &App) -> Result<i64, Error> {
    let now = app.clock.now_naive();
    // One counts for all who wait. Nobody waits longer for that than for a connection: behind a
    // database that is away each would otherwise wait for the failures of all before him.
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
