//! Token revocation by the client that holds the token (RFC 7009).

use auth_types::UserId;
use serde_json::json;

use super::clients::model::OAuthClient;
use super::error::OAuthError;
use super::introspection::good;
use crate::accounts;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::sessions;
use crate::token_access::Grant;
use crate::tokens::refresh_token::RefreshToken;

/// The session that a token belongs to.
struct RevocableSession {
    session_id: String,
    user_id: UserId,
    client_id: Option<String>,
}

/// Ends the session of an access or refresh token. An unknown token counts as revoked already (section 2.2).
///
/// # Errors
/// `invalid_grant` for a token that was not issued to this client.
pub(crate) async fn revoke(
    app: &App,
    client: &OAuthClient,
    token: &str,
    context: &RequestContext,
) -> Result<(), OAuthError> {
    let session = match by_access_token(app, token).await? {
        Some(session) => Some(session),
        None => by_refresh_token(app, token).await?,
    };
    let Some(session) = session else {
        return Ok(());
    };
    if session.client_id.as_ref() != Some(&client.id) {
        return Err(OAuthError::invalid_grant(
            "The token was issued to another client",
        ));
    }
    Ok(end(app, session, context).await?)
}

async fn end(app: &App, session: RevocableSession, context: &RequestContext) -> Result<(), Error> {
    app.transact(context, move |tx| {
        // A transaction that derives a session from this one takes the same lock.
        accounts::queries::lock_account(tx.db, session.user_id)?;
        let now = tx.now.naive_utc();
        if !sessions::queries::revoke(tx.db, &session.session_id, now)? {
            return Ok(());
        }
        let details = json!({ "reason": "revoked_by_client", "client_id": session.client_id });
        let entry = NewAuditEntry::on(AuditAction::SIGNED_OUT, session.user_id)
            .session(&session.session_id);
        tx.audit(&entry.details(details))?;
        tx.end_derived_and_publish(session.user_id, &[session.session_id])
    })
    .await
}

async fn by_access_token(app: &App, token: &str) -> Result<Option<RevocableSession>, Error> {
    let token = good(app.tokens.verify(token, app.clock.now()).await)?;
    Ok(token.map(|token| RevocableSession {
        session_id: token.session_id.clone(),
        user_id: token.user_id,
        client_id: token.access.client_id().map(str::to_owned),
    }))
}

/// Accepts a token that was rotated long ago, because its holder once held the session.
async fn by_refresh_token(app: &App, token: &str) -> Result<Option<RevocableSession>, Error> {
    let Some(token) = RefreshToken::parse(token) else {
        return Ok(None);
    };
    let row = sessions::refresh::find_session(app, &token).await?;
    // The cookie of the hosted pages has the same format, but is not a token.
    let row = row.filter(|row| row.grant.kind != Grant::BROWSER);
    Ok(row.map(|row| RevocableSession {
        session_id: row.id,
        user_id: row.user_id,
        client_id: row.grant.client_id,
    }))
}
