use auth_types::{Scope, ScopeSet};

use super::wire::TokenResponse;
use crate::app::App;
use crate::error::Error;
use crate::oauth::clients::GrantType;
use crate::oauth::clients::model::OAuthClient;
use crate::oauth::error::OAuthError;
use crate::oauth::form::OAuthForm;
use crate::oauth::grants::GrantedSession;
use crate::oauth::id_token::NewIdToken;
use crate::oauth::{codes, devices, scopes};
use crate::request_context::RequestContext;
use crate::sessions;
use crate::sessions::refresh;
use crate::sessions::refresh_check::TokenHolder;
use crate::token_access::{ClientAccess, GrantRow, TokenAccess};
use crate::tokens::refresh_token::RefreshToken;

/// Exchanges the grant of an authenticated client for tokens.
pub(super) async fn exchange(
    app: &App,
    client: &OAuthClient,
    form: &OAuthForm,
    context: &RequestContext,
) -> Result<TokenResponse, OAuthError> {
    let grant_type = GrantType::parse(form.require("grant_type")?);
    let grant_type = grant_type.ok_or(OAuthError::UnsupportedGrantType)?;
    client.check_grant_type(grant_type)?;
    match grant_type {
        GrantType::AuthorizationCode => {
            let (code, to) = (form.require("code")?, form.require("redirect_uri")?);
            let verifier = form.get("code_verifier");
            let granted = codes::redeem(app, client, code, to, verifier, context).await?;
            first_tokens(app, client, granted).await
        }
        GrantType::DeviceCode => {
            let code = form.require("device_code")?;
            let granted = devices::redeem(app, client, code, context).await?;
            first_tokens(app, client, granted).await
        }
        GrantType::RefreshToken => {
            let (token, scope) = (form.require("refresh_token")?, form.get("scope"));
            refreshed(app, client, token, scope, context).await
        }
    }
}

/// A client's session for which tokens are issued.
struct Issue<'a> {
    id_token: NewIdToken<'a>,
    refresh_token: &'a RefreshToken,
}

async fn first_tokens(
    app: &App,
    client: &OAuthClient,
    granted: GrantedSession,
) -> Result<TokenResponse, OAuthError> {
    let issue = Issue {
        id_token: NewIdToken {
            client,
            account: &granted.account,
            session_id: &granted.session.id,
            scope: granted.scope,
            auth_time: granted.auth_time,
            has_second_factor: granted.session.has_second_factor,
            nonce: granted.nonce.as_deref(),
        },
        refresh_token: &granted.session.refresh_token,
    };
    issue.tokens(app).await
}

/// Refreshes a client's session. The new access token may have fewer scopes than the session, never more (RFC 6749
/// section 6). It gets no scope for which the client is no longer registered.
async fn refreshed(
    app: &App,
    client: &OAuthClient,
    token: &str,
    asked: Option<&str>,
    context: &RequestContext,
) -> Result<TokenResponse, OAuthError> {
    let holder = TokenHolder::Client(&client.id);
    let narrowed = match asked {
        // Checked before the token is used up, so that a client whose request is refused keeps it.
        Some(asked) => {
            let granted = refresh::find_grant(app, token, holder).await?;
            Some(narrowed(read_scope(&granted)?, asked)?)
        }
        None => None,
    };
    let (session, token) = refresh::rotate(app, token, holder, context).await?;
    let scope = narrowed.map_or_else(|| read_scope(&session.grant), Ok)?;
    let issue = Issue {
        id_token: NewIdToken {
            client,
            account: &session.account,
            session_id: &session.session_id,
            scope: scope.intersection(client.allowed_scope()),
            auth_time: session.authenticated_at,
            has_second_factor: session.has_second_factor,
            nonce: None,
        },
        refresh_token: &token,
    };
    issue.tokens(app).await
}

fn narrowed(granted: ScopeSet, asked: &str) -> Result<ScopeSet, OAuthError> {
    let scope = ScopeSet::parse_known(asked).intersection(granted);
    if scope.is_empty() {
        let sentence = "None of the requested scopes was granted";
        return Err(OAuthError::InvalidScope(sentence.into()));
    }
    Ok(scope)
}

fn read_scope(grant: &GrantRow) -> Result<ScopeSet, Error> {
    scopes::read(grant.scope.as_deref().unwrap_or_default(), "sessions.scope")
}

impl Issue<'_> {
    async fn tokens(self, app: &App) -> Result<TokenResponse, OAuthError> {
        let NewIdToken {
            client,
            account,
            session_id,
            scope,
            ..
        } = self.id_token;
        let access = TokenAccess::Client(ClientAccess {
            client_id: client.id.clone(),
            scope,
            is_first_party: client.is_first_party,
        });
        let pair =
            sessions::token_pair::token_pair(app, account, session_id, &access, self.refresh_token);
        let pair = pair.await?;
        let id_token = match scope.contains(Scope::OpenId) {
            true => Some(self.id_token.sign(app, Some(&pair.access_token)).await?),
            false => None,
        };
        let may_refresh = client.may_use(GrantType::RefreshToken);
        Ok(TokenResponse {
            access_token: pair.access_token,
            refresh_token: may_refresh.then_some(pair.refresh_token),
            expires_in: pair.expires_in,
            user: pair.user,
            token_type: "Bearer",
            scope: scope.to_string(),
            id_token,
        })
    }
}
