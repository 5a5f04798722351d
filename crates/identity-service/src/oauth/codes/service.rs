use auth_types::ScopeSet;
use chrono::TimeDelta;
use secrecy::SecretString;
use serde_json::json;
use service_kit::crypto::random_token;

use super::model::{CodeRow, NewCodeRow};
use super::queries;
use crate::accounts;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::mail_links;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::error::OAuthError;
use crate::oauth::grants::{self, GrantedSession, NewGrant};
use crate::oauth::pkce::{self, CodeChallenge};
use crate::oauth::scopes;
use crate::request_context::RequestContext;
use crate::sessions;
use crate::transaction::Transaction;

/// The lifetime of a code: enough for a browser to bring it to the client.
const CODE_LIFE: TimeDelta = TimeDelta::seconds(60);

pub(crate) struct NewCode {
    pub(crate) client_id: String,
    /// The redirect URI exactly as in the request.
    pub(crate) redirect_uri: String,
    pub(crate) scope: ScopeSet,
    pub(crate) nonce: Option<String>,
    pub(crate) challenge: Option<CodeChallenge>,
}

/// Issues a code to the client of `code`, in the name of a signed-in user.
pub(crate) fn issue(
    tx: &mut Transaction<'_>,
    user: &CurrentUser,
    code: &NewCode,
) -> Result<SecretString, Error> {
    let token = random_token();
    let now = tx.now.naive_utc();
    queries::insert_code(
        tx.db,
        &NewCodeRow {
            code_hash: &mail_links::hash(&token),
            client_id: &code.client_id,
            user_id: user.account.id.get(),
            authorized_by: &user.token.session_id,
            redirect_uri: &code.redirect_uri,
            scope: code.scope.to_string(),
            nonce: code.nonce.as_deref(),
            challenge: code.challenge.as_ref().map(CodeChallenge::text),
            challenge_method: code.challenge.as_ref().map(CodeChallenge::method),
            auth_time: user.session.authenticated_at,
            created_at: now,
            expires_at: now + CODE_LIFE,
        },
    )?;
    Ok(token)
}

/// Opens the session that a code is for. A code that is presented again ends its session, because somebody has a copy
/// (RFC 6749 section 4.1.2).
pub(crate) async fn redeem(
    app: &App,
    client: &OAuthClient,
    code: &str,
    redirect_uri: &str,
    verifier: Option<&str>,
    context: &RequestContext,
) -> Result<GrantedSession, OAuthError> {
    let hash = mail_links::hash(&SecretString::from(code));
    let (key, client_id) = (hash.clone(), client.id.clone());
    let row = app
        .read(move |db| queries::find_code(db, &key, &client_id))
        .await?
        .ok_or_else(not_good)?;
    // These checks come first, for a used code too. A caller who fails them has only seen the code, and must not end the
    // client's session with it.
    row.check(redirect_uri, verifier)?;
    if row.used_at.is_some() {
        return replayed(app, client, hash, row, context).await;
    }
    if row.expires_at <= app.clock.now_naive() {
        return Err(not_good());
    }
    let grant = NewGrant {
        client: client.clone(),
        user_id: row.user_id,
        scope: scopes::read(&row.scope, "oauth_codes.scope")?,
        authorized_by: row.authorized_by.clone(),
        ends_with_sign_in: true,
        auth_time: row.auth_time,
        nonce: row.nonce.clone(),
        by: "authorization_code",
    };
    let key = hash.clone();
    let granted = grants::open(app, grant, context, move |tx, session_id| {
        let now = tx.now.naive_utc();
        Ok(queries::use_up(tx.db, &key, session_id, now)?)
    })
    .await?;
    match granted {
        Some(granted) => Ok(granted),
        None => replayed(app, client, hash, row, context).await,
    }
}

fn not_good() -> OAuthError {
    OAuthError::invalid_grant("The code is unknown, used or expired")
}

impl CodeRow {
    /// Checks the redirect URI and the code verifier.
    fn check(&self, redirect_uri: &str, verifier: Option<&str>) -> Result<(), OAuthError> {
        if self.redirect_uri != redirect_uri {
            return Err(OAuthError::invalid_grant(
                "The redirect_uri differs from the one of the authorization request",
            ));
        }
        if verifier.is_some_and(|verifier| !pkce::is_well_formed(verifier)) {
            return Err(OAuthError::invalid_request(
                "code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~",
            ));
        }
        match (self.challenge()?, verifier) {
            (None, None) => Ok(()),
            (Some(challenge), Some(verifier)) if challenge.is_met_by(verifier) => Ok(()),
            (Some(_), Some(_)) => Err(OAuthError::invalid_grant("The code_verifier is wrong")),
            (Some(_), None) => Err(OAuthError::invalid_grant("The code_verifier is missing")),
            // RFC 9700 section 4.8.2: somebody may have removed the challenge from the request.
            (None, Some(_)) => Err(OAuthError::invalid_grant(
                "The authorization request had no code_challenge",
            )),
        }
    }

    fn challenge(&self) -> Result<Option<CodeChallenge>, Error> {
        let Some(text) = self.challenge.clone() else {
            return Ok(None);
        };
        let method = self.challenge_method.as_deref().unwrap_or_default();
        CodeChallenge::stored(text, method)
            .map(Some)
            .ok_or_else(|| Error::internal("oauth_codes.challenge_method", method))
    }
}

async fn replayed(
    app: &App,
    client: &OAuthClient,
    hash: String,
    row: CodeRow,
    context: &RequestContext,
) -> Result<GrantedSession, OAuthError> {
    let (user_id, client_id) = (row.user_id, client.id.clone());
    app.transact(context, move |tx| {
        accounts::queries::lock_account(tx.db, user_id)?;
        let Some(sid) = queries::find_given(tx.db, &hash)? else {
            return Ok(());
        };
        if sessions::queries::revoke(tx.db, &sid, tx.now.naive_utc())? {
            let entry = NewAuditEntry::on(AuditAction::CODE_REPLAYED, user_id).session(&sid);
            tx.audit(&entry.details(json!({ "client_id": client_id })))?;
            tx.end_derived_and_publish(user_id, &[sid])?;
        }
        Ok(())
    })
    .await?;
    Err(not_good())
}
