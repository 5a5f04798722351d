//! What a token is worth (RFC 7662).

use actix_web::web::Bytes;
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::clients::model::OAuthClient;
use super::error::OAuthError;
use crate::access::Grant;
use crate::accounts;
use crate::accounts::model::AccountRow;
use crate::app::App;
use crate::auth;
use crate::error::Error;
use crate::feed::Question;
use crate::sessions;
use crate::tokens::refresh::RefreshToken;

/// What is told of a token. Of one that is not good, or not the caller's business, nothing but `active`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct IntrospectionResponse {
    /// Whether it is good now.
    active: bool,
    /// Absent where scopes limit nothing: for a sign-in at the product itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// The client that it was issued to; absent for a sign-in at the product itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// `Bearer` for an access token, `refresh_token` for the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    /// Seconds since the epoch, like the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    /// The account's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    /// `sso` for a token that was handed over to another site, `first_party` for one of the product's own
    /// OAuth clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'static str>,
}

/// Tells `client` of a token: of its own ones, or of all if it may. What a token says of its kind beforehand
/// is not needed. The body of the answer ([`IntrospectionResponse`]); of a good access token it is kept ready for
/// whoever asks again.
pub(crate) async fn introspect(
    app: &App,
    client: &OAuthClient,
    token: &str,
) -> Result<Bytes, OAuthError> {
    let now = app.clock.now();
    // Before anything is read: whatever changes from here on, nothing that is kept says otherwise.
    let ticket = app.memory.ticket();
    let question = Question::introspection(token, client);
    if let Some(body) = ticket.and_then(|ticket| app.memory.answer(ticket, &question, now)) {
        return Ok(body);
    }
    let Some(told) = of_access_token(app, client, token, now).await? else {
        let told = of_refresh_token(app, client, token).await?;
        return Ok(body(&told.unwrap_or_default())?.into());
    };
    let body = body(&told)?;
    let Some(ticket) = ticket else {
        return Ok(body.into());
    };
    let ends = told.exp.and_then(|ends| DateTime::from_timestamp(ends, 0));
    let times = (now, ends.unwrap_or(now));
    Ok(app.memory.remember_answer(ticket, question, body, times))
}

fn body(told: &IntrospectionResponse) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(told)
        .map_err(|error| Error::internal("the answer of an introspection", error))
}

async fn of_access_token(
    app: &App,
    client: &OAuthClient,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Option<IntrospectionResponse>, Error> {
    let Some(token) = good(app.tokens.verify(token, now).await)? else {
        return Ok(None);
    };
    let access = &token.access;
    if !client.may_see(access.client_id()) {
        return Ok(None);
    }
    let Some((session, account)) = good(auth::standing(app, &token).await)? else {
        return Ok(None);
    };
    let ends = session.expires_at.and_utc().timestamp();
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
    let is_told = |(row, account): &(sessions::model::RefreshRow, AccountRow)| {
        row.is_good(&presented, now)
            && account.is_active
            // The cookie of the hosted pages is no token of anybody's.
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
    /// Whether it may know of a token that was issued to this client, or to none.
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

/// Tells a token that is refused from a service that cannot say.
pub(super) fn good<T>(outcome: Result<T, Error>) -> Result<Option<T>, Error> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_unauthorized() => Ok(None),
        Err(error) => Err(error),
    }
}
