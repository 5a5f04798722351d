use std::net::IpAddr;

use auth_types::PremiumTier;
use auth_types::wire::{TokenPair, ValidateResponse};
use chrono::NaiveDateTime;

use super::model::{NewSession, Presented};
use super::queries;
use super::wire::{LoginRequest, RefreshRequest};
use crate::accounts;
use crate::accounts::model::{AccountRow, CredentialsRow, Viewer};
use crate::accounts::rules::{Password, Username};
use crate::app::App;
use crate::audit::{self, Action, Entry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::passwords::Verdict;
use crate::teams;
use crate::tokens::refresh::RefreshToken;

/// Opens a session for who knows an account's password. An unknown name, a wrong password and an
/// inactive account are one answer and take one time.
pub(crate) async fn login(
    app: &App,
    request: LoginRequest,
    address: IpAddr,
) -> Result<TokenPair, Error> {
    // What no account can be called is looked up as nobody, so that a long name costs no memory.
    let username =
        Username::parse(&request.username).map_or_else(|_| String::new(), |name| name.lower());
    app.limits
        .check_login(address, &username, app.clock.now())?;
    let name = username.clone();
    let found = app
        .pool
        .read(move |db| Ok::<_, Error>(accounts::queries::find_credentials(db, &name)?))
        .await?;
    // An inactive account's own hash is not looked at: whether the password was right must not show.
    let stored = found
        .as_ref()
        .filter(|credentials| credentials.is_active)
        .map(|credentials| credentials.password_hash.clone());
    let verdict = app
        .passwords
        .verify(Password::presented(&request.password), stored)
        .await?;

    let (credentials, upgrade) = match (found, verdict) {
        (Some(credentials), Verdict::Right) => (credentials, None),
        (Some(credentials), Verdict::RightButWeak(better)) => (credentials, Some(better)),
        (found, _) => return refuse_login(app, found, &username, address).await,
    };
    app.limits.login_succeeded(address, &username);
    open_session(app, credentials, upgrade, address).await
}

async fn refuse_login(
    app: &App,
    found: Option<CredentialsRow>,
    username: &str,
    address: IpAddr,
) -> Result<TokenPair, Error> {
    app.limits.login_failed(address, username, app.clock.now());
    let entry = Entry {
        action: Action::SignInFailed,
        user_id: found.map(|row| row.id),
        session_id: None,
        address,
    };
    let now = app.clock.now_naive();
    app.pool
        .write_one(move |db| Ok::<_, Error>(audit::queries::record(db, &entry, now)?))
        .await?;
    Err(Error::InvalidCredentials)
}

async fn open_session(
    app: &App,
    credentials: CredentialsRow,
    upgrade: Option<String>,
    address: IpAddr,
) -> Result<TokenPair, Error> {
    let now = app.clock.now_naive();
    let session = NewSession::open(now);
    let (account, session) = app
        .pool
        .write_tx(move |db| {
            // Read here and not before the hash: the account may have been deactivated meanwhile.
            let account = accounts::queries::find_account(db, credentials.id)?
                .filter(|account| account.is_active);
            let account = account.ok_or(Error::InvalidCredentials)?;
            if let Some(better) = &upgrade {
                accounts::queries::upgrade_hash(
                    db,
                    account.id,
                    &credentials.password_hash,
                    better,
                )?;
            }
            queries::insert_session(db, &session.row(account.id))?;
            let entry = Entry {
                action: Action::SignedIn,
                user_id: Some(account.id),
                session_id: Some(session.id.clone()),
                address,
            };
            audit::queries::record(db, &entry, now)?;
            Ok::<_, Error>((account, session))
        })
        .await?;
    token_pair(app, &account, &session.id, &session.refresh_token).await
}

/// Rotates a refresh token and mints an access token.
pub(crate) async fn refresh(
    app: &App,
    request: &RefreshRequest,
    address: IpAddr,
) -> Result<TokenPair, Error> {
    let presented =
        RefreshToken::parse(&request.refresh_token).ok_or(Error::InvalidRefreshToken)?;
    app.limits.check_refresh(&presented)?;
    let successor = presented.successor(&app.successor_key);
    let now = app.clock.now_naive();

    let tokens = (presented.clone(), successor.clone());
    let rotated = app
        .pool
        .write_one(move |db| Ok::<_, Error>(queries::rotate(db, &tokens.0, &tokens.1, now)?))
        .await?;
    let (session_id, user_id) = match rotated {
        Some(rotated) => rotated,
        None => not_rotated(app, presented, &successor, now, address).await?,
    };
    let account = app
        .pool
        .read(move |db| Ok::<_, Error>(accounts::queries::find_account(db, user_id)?))
        .await?;
    let account = account
        .filter(|account| account.is_active)
        .ok_or(Error::InvalidRefreshToken)?;
    token_pair(app, &account, &session_id, &successor).await
}

/// Finds out why a token could not be rotated: repeated within the grace period, dead, or reused,
/// which ends its session and no other.
async fn not_rotated(
    app: &App,
    presented: RefreshToken,
    successor: &RefreshToken,
    now: NaiveDateTime,
    address: IpAddr,
) -> Result<(String, auth_types::UserId), Error> {
    let lineage = presented.lineage();
    let row = app
        .pool
        .read(move |db| Ok::<_, Error>(queries::find_lineage(db, &lineage)?))
        .await?;
    let row = row.ok_or(Error::InvalidRefreshToken)?;
    match row.judge(&presented, successor, now) {
        Presented::Dead => Err(Error::InvalidRefreshToken),
        Presented::Repeated => Ok((row.id, row.user_id)),
        Presented::Reused => {
            app.pool
                .write_tx(move |db| {
                    if queries::revoke(db, &row.id, now)? {
                        let entry = Entry {
                            action: Action::RefreshTokenReused,
                            user_id: Some(row.user_id),
                            session_id: Some(row.id),
                            address,
                        };
                        audit::queries::record(db, &entry, now)?;
                    }
                    Ok::<_, Error>(())
                })
                .await?;
            Err(Error::RefreshTokenReused)
        }
    }
}

/// Ends the caller's session, and that of another refresh token of his if he names one.
pub(crate) async fn logout(
    app: &App,
    caller: &CurrentUser,
    refresh_token: Option<&str>,
    address: IpAddr,
) -> Result<(), Error> {
    let other = refresh_token
        .and_then(RefreshToken::parse)
        .map(|token| token.lineage());
    let (user_id, session_id) = (caller.account.id, caller.token.session_id.clone());
    let now = app.clock.now_naive();
    app.pool
        .write_tx(move |db| {
            let mut ending = vec![session_id];
            if let Some(lineage) = other {
                ending.extend(queries::find_session_of(db, &lineage, user_id)?);
            }
            // In one order for everybody: two devices that sign each other out would deadlock.
            ending.sort();
            for session_id in ending {
                if !queries::revoke(db, &session_id, now)? {
                    continue;
                }
                let entry = Entry {
                    action: Action::SignedOut,
                    user_id: Some(user_id),
                    session_id: Some(session_id),
                    address,
                };
                audit::queries::record(db, &entry, now)?;
            }
            Ok(())
        })
        .await
}

/// Tells everything about a good token, with the account's teams if asked.
pub(crate) async fn validate(
    app: &App,
    caller: &CurrentUser,
    with_teams: bool,
) -> Result<ValidateResponse, Error> {
    let user_id = caller.account.id;
    let teams = match with_teams {
        true => Some(
            app.pool
                .read(move |db| Ok::<_, Error>(teams::queries::list_memberships(db, user_id)?))
                .await?,
        ),
        false => None,
    };
    let teams = teams
        .map(|rows| {
            rows.into_iter()
                .map(teams::model::MembershipRow::into_wire)
                .collect::<Result<_, _>>()
        })
        .transpose()?;
    let now = app.clock.now_naive();
    let user = caller.account.to_user(Viewer::SelfOrSuperadmin, now)?;
    let bandwidth = |tier| match tier {
        PremiumTier::Free => app.premium.free_bandwidth_mb,
        PremiumTier::Premium => app.premium.premium_bandwidth_mb,
    };
    Ok(ValidateResponse {
        valid: true,
        flat: user.clone(),
        user,
        premium: caller.account.premium(bandwidth, now)?,
        token_type: "access".to_owned(),
        expires_at: caller.token.expires_at,
        scope: caller.token.scope.clone(),
        teams,
    })
}

/// The answer of everything that signs in or refreshes.
pub(crate) async fn token_pair(
    app: &App,
    account: &AccountRow,
    session_id: &str,
    refresh_token: &RefreshToken,
) -> Result<TokenPair, Error> {
    let now = app.clock.now();
    Ok(TokenPair {
        access_token: app.tokens.issue(account.id, session_id, now).await?,
        refresh_token: refresh_token.expose(),
        expires_in: app.tokens.expires_in(),
        user: account.to_user(Viewer::SelfOrSuperadmin, now.naive_utc())?,
    })
}
