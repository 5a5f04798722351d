//! Token introspection (RFC 7662).

use actix_web::web::Bytes;
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::claims::ProfileClaims;
use super::clients::model::OAuthClient;
use super::error::OAuthError;
use crate::accounts;
use crate::accounts::model::AccountRow;
use crate::app::App;
use crate::auth;
use crate::change_feed::ResponseKey;
use crate::error::Error;
use crate::sessions;
use crate::token_access::Grant;
use crate::tokens::refresh_token::RefreshToken;

/// The state of a token (RFC 7662 section 2.2). `active` is the only field if it is `false`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct IntrospectionResponse {
    /// Whether the token is active.
    active: bool,
    /// The scopes of the token, separated by spaces; absent if it was not issued to a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// The client to which the token was issued, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// `Bearer` for an access token, `refresh_token` for a refresh token.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    /// When the token expires, in seconds since the epoch. `iat` and `nbf` have the same unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    /// The id of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    /// `sso` for a token of an SSO session, `first_party` for a token of a first-party client.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
    /// The claims that the scopes of an access token allow.
    #[serde(flatten)]
    claims: ProfileClaims,
}

/// Returns the response for a token, an [`IntrospectionResponse`] as JSON. A client sees its own tokens, or every token if
/// it is registered for that. A type hint is not needed. The response for an active access token is cached.
pub(crate) async fn introspect(
    app: &App,
    client: &OAuthClient,
    token: &str,
) -> Result<Bytes, OAuthError> {
    let now = app.clock.now();
    // The ticket comes before every read. A later change then invalidates what is cached with it.
    let ticket = app.cache.ticket();
    let key = ResponseKey::introspection(token, client);
    if let Some(body) = ticket.and_then(|ticket| app.cache.find_response(ticket, &key, now)) {
        return Ok(body);
    }
    let Some(response) = of_access_token(app, client, token, now).await? else {
        let response = of_refresh_token(app, client, token).await?;
        return Ok(body(&response.unwrap_or_default())?.into());
    };
    let body = body(&response)?;
    let Some(ticket) = ticket else {
        return Ok(body.into());
    };
    let ends = response
        .exp
        .and_then(|ends| DateTime::from_timestamp(ends, 0));
    let times = (now, ends.unwrap_or(now));
    Ok(app.cache.insert_response(ticket, key, body, times))
}

fn body(response: &IntrospectionResponse) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(response)
        .map_err(|error| Error::internal("writing an introspection response", error))
}

async fn of_access_token(
    app: &App,
    client: &OAuthClient,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Option<IntrospectionResponse>, Error> {
    let Some(token) = good(auth::verify_token(app, token, now).await)? else {
        return Ok(None);
    };
    let access = &token.access;
    if !client.may_see(access.client_id()) {
        return Ok(None);
    }
    let Some((session, account)) = good(auth::live_session(app, &token).await)? else {
        return Ok(None);
    };
    let ends = session.expires_at.and_utc().timestamp();
    let claims = match access.scope() {
        // The introspecting client reads the groups, so they have the form that it is registered for.
        Some(scope) => {
            let groups = client.metadata.groups_claim;
            ProfileClaims::load(app, &account, Some(scope), groups).await?
        }
        None => ProfileClaims::default(),
    };
    Ok(Some(IntrospectionResponse {
        scope: access.scope().map(|scope| scope.to_string()),
        client_id: access.client_id().map(str::to_owned),
        token_type: Some("Bearer"),
        exp: Some(token.expires_at.min(ends)),
        iat: Some(token.issued_at),
        nbf: Some(token.not_before),
        aud: Some(app.base_url.to_string()),
        jti: Some(token.jti.clone()),
        origin: access.origin(),
        claims,
        ..active(app, &account)
    }))
}

async fn of_refresh_token(
    app: &App,
    client: &OAuthClient,
    token: &str,
) -> Result<Option<IntrospectionResponse>, Error> {
    let Some(presented) = RefreshToken::parse(token) else {
        return Ok(None);
    };
    let (lineage, now) = (presented.lineage(), app.clock.now_naive());
    let found = app
        .read(move |db| {
            let Some(row) = sessions::queries::find_lineage(db, &lineage)? else {
                return Ok(None);
            };
            let account = accounts::queries::find_account(db, row.user_id)?;
            Ok(account.map(|account| (row, account)))
        })
        .await?;
    let is_told = |(row, account): &(sessions::refresh_check::RefreshRow, AccountRow)| {
        row.is_current(&presented, now)
            && account.is_active
            // The cookie of the hosted pages has the same format, but is not a token.
            && row.grant.kind != Grant::BROWSER
            && client.may_see(row.grant.client_id.as_deref())
    };
    let Some((row, account)) = found.filter(is_told) else {
        return Ok(None);
    };
    Ok(Some(IntrospectionResponse {
        token_type: Some("refresh_token"),
        exp: Some(row.ends_at().and_utc().timestamp()),
        iat: Some(row.rotated_at().and_utc().timestamp()),
        scope: row.grant.scope,
        client_id: row.grant.client_id,
        ..active(app, &account)
    }))
}

impl OAuthClient {
    /// Whether the client may introspect a token that was issued to the client `issued_to`, or to none.
    fn may_see(&self, issued_to: Option<&str>) -> bool {
        self.may_introspect_any || issued_to == Some(&self.id)
    }
}

fn active(app: &App, account: &AccountRow) -> IntrospectionResponse {
    IntrospectionResponse {
        active: true,
        username: Some(account.username.clone()),
        sub: Some(account.id.to_string()),
        iss: Some(app.base_url.to_string()),
        ..IntrospectionResponse::default()
    }
}

/// Turns the error of a refused token into `None`. Other errors remain: the service could not check the token.
pub(super) fn good<T>(outcome: Result<T, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_unauthorized() => Ok(None),
        Err(error) => Err(error),
    }
}
