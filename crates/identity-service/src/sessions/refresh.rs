use auth_types::wire::TokenPair;
use chrono::NaiveDateTime;
use db_kit::Backend;

use super::queries::{self, RefreshRotation, RotatedSession};
use super::refresh_check::{RefreshCheck, RefreshRow, TokenHolder};
use super::token_pair::token_pair;
use super::wire::RefreshRequest;
use crate::accounts;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::rate_limits::AddressLimit;
use crate::request_context::RequestContext;
use crate::token_access::GrantRow;
use crate::tokens::refresh_token::RefreshToken;

/// Rotates a refresh token and issues an access token. An address that keeps presenting invalid tokens is
/// rate-limited; valid ones from it still pass, because many users may share it.
pub(crate) async fn refresh(
    app: &App,
    request: &RefreshRequest,
    context: &RequestContext,
) -> Result<TokenPair, Error> {
    let outcome = rotate(app, &request.refresh_token, TokenHolder::Own, context).await;
    if matches!(outcome, Err(Error::InvalidRefreshToken)) {
        app.rate_limits
            .check_address(AddressLimit::RefusedRefresh, context.address)?;
    }
    let (session, token) = outcome?;
    let grant = session.grant.own()?.ok_or(Error::InvalidRefreshToken)?;
    let access = grant.access();
    token_pair(app, &session.account, &session.session_id, &access, &token).await
}

/// Rotates a refresh token that `holder` presents, and returns its session and the next token.
pub(crate) async fn rotate(
    app: &App,
    token: &str,
    holder: TokenHolder<'_>,
    context: &RequestContext,
) -> Result<(RotatedSession, RefreshToken), Error> {
    let presented = RefreshToken::parse(token).ok_or(Error::InvalidRefreshToken)?;
    app.rate_limits.check_refresh(&presented)?;
    let successor = presented.successor(&app.successor_key);
    let now = app.clock.now_naive();
    let rotation = RefreshRotation::new((&presented, &successor), holder, context, now);
    let together = match app.pool.backend() {
        Backend::Postgres => app.refreshes.rotations.run(rotation.clone()).await?,
        Backend::Sqlite => None,
    };
    let rotated = match together {
        Some(rotated) => rotated,
        None => rotate_alone(app, presented, &successor, holder, rotation, context).await?,
    };
    // The statements check this too, but a repeated token gets its successor without them.
    match rotated.account.is_active {
        true => Ok((rotated, successor)),
        false => Err(Error::InvalidRefreshToken),
    }
}

/// Rotates a token that no batch has rotated. A session never changes its account, so this needs no transaction. An
/// unknown token is refused before it waits for SQLite's single writer.
async fn rotate_alone(
    app: &App,
    presented: RefreshToken,
    successor: &RefreshToken,
    holder: TokenHolder<'_>,
    rotation: RefreshRotation,
    context: &RequestContext,
) -> Result<RotatedSession, Error> {
    let found = app.refreshes.sessions.run(presented.lineage()).await?;
    let found = found
        .filter(|found| holder.has(&found.grant))
        .ok_or(Error::InvalidRefreshToken)?;
    let now = rotation.now;
    let rotated = app
        .write_one(move |db| queries::rotate(db, &rotation))
        .await?;
    if !rotated {
        handle_refused_rotation(app, presented, successor, now, context).await?;
    }
    Ok(found)
}

/// Finds the session of a refresh token, even if it has ended or the token was rotated.
pub(crate) async fn find_session(
    app: &App,
    token: &RefreshToken,
) -> Result<Option<RefreshRow>, Error> {
    let lineage = token.lineage();
    app.read(move |db| queries::find_lineage(db, &lineage))
        .await
}

/// Returns the grant of a refresh token's session, even if the session has ended. `holder` must own the token.
pub(crate) async fn find_grant(
    app: &App,
    token: &str,
    holder: TokenHolder<'_>,
) -> Result<GrantRow, Error> {
    let presented = RefreshToken::parse(token).ok_or(Error::InvalidRefreshToken)?;
    let row = find_session(app, &presented).await?;
    row.map(|row| row.grant)
        .filter(|grant| holder.has(grant))
        .ok_or(Error::InvalidRefreshToken)
}

/// Handles a token that could not be rotated. A repetition within the grace period is `Ok`: the caller gets the same
/// successor. A later reuse ends the token's session and the sessions derived from it, and no others.
async fn handle_refused_rotation(
    app: &App,
    presented: RefreshToken,
    successor: &RefreshToken,
    now: NaiveDateTime,
    context: &RequestContext,
) -> Result<(), Error> {
    let row = find_session(app, &presented).await?;
    let row = row.ok_or(Error::InvalidRefreshToken)?;
    match row.classify(&presented, successor, now) {
        RefreshCheck::Unusable => Err(Error::InvalidRefreshToken),
        RefreshCheck::Repeated => Ok(()),
        RefreshCheck::Reused => {
            app.transact(context, move |tx| {
                accounts::queries::lock_account(tx.db, row.user_id)?;
                if queries::revoke(tx.db, &row.id, now)? {
                    let entry = NewAuditEntry::on(AuditAction::REFRESH_TOKEN_REUSED, row.user_id);
                    tx.audit(&entry.session(&row.id))?;
                    tx.end_derived_and_publish(row.user_id, &[row.id])?;
                }
                Ok(())
            })
            .await?;
            Err(Error::RefreshTokenReused)
        }
    }
}
