//! Client authentication (RFC 6749 section 2.3).

use std::sync::Arc;

use actix_web::http::header::{AUTHORIZATION, HeaderMap};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::form_urlencoded;

use super::lookup::{find_client, known_client};
use super::model::OAuthClient;
use crate::app::App;
use crate::oauth::error::OAuthError;
use crate::oauth::form::OAuthForm;
use crate::request_context::RequestContext;

/// The maximum length of a client id.
const MAX_ID_CHARS: usize = 64;

/// The credentials that a client presents.
#[derive(PartialEq, Eq)]
struct ClientCredentials {
    id: String,
    secret: Option<String>,
    /// The secret exactly as in the header, if decoding changes it. Some clients do not encode it.
    raw_secret: Option<String>,
}

/// Authenticates the client of a request: by `Authorization: Basic`, or by `client_id` and `client_secret` in the form. A
/// public client sends only its id.
///
/// # Errors
/// [`OAuthError::InvalidClient`] for an unknown client and for a wrong secret alike; `invalid_request` for contradictory
/// credentials; 429 for a failure after too many others.
pub(crate) async fn authenticate(
    app: &App,
    headers: &HeaderMap,
    form: &OAuthForm,
    context: &RequestContext,
) -> Result<OAuthClient, OAuthError> {
    let credentials = credentials(headers, form)?;
    match registered(app, &credentials).await? {
        Some(client) => Ok(client),
        None => refuse(app, &credentials, context),
    }
}

/// Authenticates a client against the cache, for frequent requests that issue nothing lasting. A change that another
/// process makes to the client takes effect here within a second.
pub(crate) async fn authenticate_known(
    app: &App,
    headers: &HeaderMap,
    form: &OAuthForm,
    context: &RequestContext,
) -> Result<Arc<OAuthClient>, OAuthError> {
    let credentials = credentials(headers, form)?;
    if let Some(client) = known_client(app, &credentials.id).filter(|client| credentials.is(client))
    {
        return Ok(client);
    }
    // The cached client may be older than the secret, so the database decides before a refusal.
    let ticket = app.cache.ticket();
    let Some(client) = registered(app, &credentials).await?.map(Arc::new) else {
        return refuse(app, &credentials, context);
    };
    if let Some(ticket) = ticket {
        app.cache.insert_client(ticket, &client);
    }
    Ok(client)
}

/// Finds the registered client to which the credentials belong.
async fn registered(
    app: &App,
    credentials: &ClientCredentials,
) -> Result<Option<OAuthClient>, OAuthError> {
    let found = match credentials.id.len() {
        1..=MAX_ID_CHARS => find_client(app, &credentials.id).await?,
        _ => None,
    };
    // Earlier failures do not matter: ids are public, and a secret is too long to guess. If failures were checked first,
    // anybody could lock out a client behind the same address.
    Ok(found.filter(|client| credentials.is(client)))
}

fn refuse<T>(
    app: &App,
    credentials: &ClientCredentials,
    context: &RequestContext,
) -> Result<T, OAuthError> {
    let now = app.clock.now();
    app.rate_limits
        .check_client(context.address, &credentials.id, now)?;
    app.rate_limits
        .client_failed(context.address, &credentials.id, now)?;
    Err(OAuthError::InvalidClient)
}

impl ClientCredentials {
    fn is(&self, client: &OAuthClient) -> bool {
        // Both secrets are compared in every case, so that the time reveals nothing.
        match (&self.secret, &self.raw_secret) {
            (None, None) => client.is_public(),
            (secret, raw) => [secret, raw]
                .into_iter()
                .flatten()
                .fold(false, |is, secret| is | client.has_secret(secret)),
        }
    }
}

fn credentials(headers: &HeaderMap, form: &OAuthForm) -> Result<ClientCredentials, OAuthError> {
    let mut authorizations = headers.get_all(AUTHORIZATION);
    let Some(authorization) = authorizations.next() else {
        return Ok(ClientCredentials {
            id: form
                .get("client_id")
                .ok_or(OAuthError::InvalidClient)?
                .to_owned(),
            secret: form.get("client_secret").map(str::to_owned),
            raw_secret: None,
        });
    };
    if authorizations.next().is_some() {
        return Err(OAuthError::invalid_request(
            "The header Authorization is repeated",
        ));
    }
    let credentials = basic(authorization.as_bytes()).ok_or(OAuthError::InvalidClient)?;
    if form.get("client_secret").is_some() {
        return Err(OAuthError::invalid_request(
            "The client authenticates in two ways at once",
        ));
    }
    if form.get("client_id").is_some_and(|id| id != credentials.id) {
        return Err(OAuthError::invalid_request(
            "client_id differs from the client that authenticates",
        ));
    }
    Ok(credentials)
}

/// Parses `Basic` credentials. Both parts are form-encoded before they are joined (RFC 6749 section 2.3.1), but many
/// libraries send the secret unencoded. An id has no character that decoding changes.
fn basic(header: &[u8]) -> Option<ClientCredentials> {
    let (scheme, encoded) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let (id, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    let raw = Some(secret).filter(|raw| !raw.is_empty() && !raw.contains('\0'));
    let decoded = raw.and_then(form_decode);
    Some(ClientCredentials {
        id: form_decode(id)?,
        raw_secret: raw
            .map(str::to_owned)
            .filter(|raw| decoded.as_ref() != Some(raw)),
        secret: decoded,
    })
}

fn form_decode(text: &str) -> Option<String> {
    // `&` and `=` would end a form value. Clients that do not encode send them, so they stand for themselves.
    let text = text.replace('&', "%26").replace('=', "%3D");
    let (decoded, _) = form_urlencoded::parse(text.as_bytes())
        .next()
        .unwrap_or_default();
    let is_good = !decoded.contains(['\0', char::REPLACEMENT_CHARACTER]);
    is_good.then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// Returns the id and the candidates for the secret.
    fn read(header: &str) -> Option<(String, Vec<String>)> {
        let read = basic(header.as_bytes())?;
        let secrets = [read.secret, read.raw_secret];
        Some((read.id, secrets.into_iter().flatten().collect()))
    }

    fn encoded(credentials: &str) -> String {
        format!("Basic {}", STANDARD.encode(credentials))
    }

    fn some(id: &str, secrets: &[&str]) -> Option<(String, Vec<String>)> {
        let secrets = secrets.iter().map(|secret| (*secret).to_owned());
        Some((id.to_owned(), secrets.collect()))
    }

    #[test]
    fn id_and_secret_may_be_form_encoded_and_the_secret_also_raw() {
        assert_eq!(read(&encoded("app:s3cret")), some("app", &["s3cret"]));
        assert_eq!(
            read(&encoded("a%3Ab:p%2Bq+r%25%C3%A9")),
            some("a:b", &["p+q r%é", "p%2Bq+r%25%C3%A9"])
        );
        assert_eq!(read(&encoded("app:a:b=c&d")), some("app", &["a:b=c&d"]));
        assert_eq!(
            read(&encoded("app:a+b/c%d==")),
            some("app", &["a b/c%d==", "a+b/c%d=="])
        );
        assert_eq!(read(&encoded("app:%FF")), some("app", &["%FF"]));
        assert_eq!(read(&encoded("app:%00")), some("app", &["%00"]));
        assert_eq!(read(&encoded("app:")), some("app", &[]));
        let lower = encoded("app:x").replace("Basic", "bASIC");
        assert_eq!(read(&lower), some("app", &["x"]));
    }

    #[test]
    fn a_malformed_basic_header_has_no_credentials() {
        for header in [
            "Basic",
            "Basic ",
            "Basic !!!",
            "Bearer abc",
            &encoded("no-colon"),
            &encoded("%FF:secret"),
            &format!("Basic {}", STANDARD.encode(b"app:\xff")),
        ] {
            assert_eq!(read(header), None, "{header}");
        }
    }
}
