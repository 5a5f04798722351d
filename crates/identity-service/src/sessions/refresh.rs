use auth_types::UserId;
use auth_types::wire::TokenPair;
use chrono::NaiveDateTime;

use super::model::{Client, Presented};
use super::queries;
use super::service::token_pair;
use super::wire::RefreshRequest;
use crate::accounts;
use crate::app::App;
use crate::audit::{Action, Entry};
use crate::error::Error;
use crate::origin::Origin;
use crate::tokens::refresh::RefreshToken;

/// Rotates a refresh token and mints an access token.
pub(crate) async fn refresh(
    app: &App,
    request: &RefreshRequest,
    origin: &Origin,
) -> Result<TokenPair, Error> {
    let presented =
        RefreshToken::parse(&request.refresh_token).ok_or(Error::InvalidRefreshToken)?;
    app.limits.check_refresh(&presented)?;
    let successor = presented.successor(&app.successor_key);
    let now = app.clock.now_naive();

    let tokens = (presented.clone(), successor.clone());
    let client = Client::from(origin);
    let rotated = app
        .pool
        .write_one(move |db| {
            let rotated = queries::rotate(db, &tokens.0, &tokens.1, &client, now)?;
            Ok::<_, Error>(rotated)
        })
        .await?;
    let (session_id, user_id) = match rotated {
        Some(rotated) => rotated,
        None => not_rotated(app, presented, &successor, now, origin).await?,
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
    origin: &Origin,
) -> Result<(String, UserId), Error> {
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
            app.change(origin, move |change| {
                if queries::revoke(change.db, &row.id, now)? {
                    let entry = Entry::on(Action::RefreshTokenReused, row.user_id);
                    change.audit(&entry.session(&row.id))?;
                    change.sessions_ended(row.user_id, &[row.id])?;
                }
                Ok(())
            })
            .await?;
            Err(Error::RefreshTokenReused)
        }
    }
}
