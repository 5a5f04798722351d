//! ID tokens (OpenID Connect Core section 2), which tell a client who signed in.

use auth_types::ScopeSet;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::NaiveDateTime;
use jsonwebtoken::Header;
use serde::Serialize;
use service_kit::crypto::sha256;

use super::claims::ProfileClaims;
use super::clients::model::OAuthClient;
use crate::accounts::model::AccountRow;
use crate::app::{App, ID_TOKEN_LIFE};
use crate::error::Error;

/// The claims of an ID token. `exp`, `iat` and `auth_time` are seconds since the epoch.
#[derive(Serialize)]
struct IdClaims<'a> {
    iss: &'a str,
    sub: String,
    aud: &'a str,
    azp: &'a str,
    exp: i64,
    iat: i64,
    auth_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    at_hash: String,
    #[serde(flatten)]
    profile: ProfileClaims,
}

/// Signs an ID token with the algorithm of the client. `auth_time` is the time of the sign-in, and `access_token` is the
/// access token of the same response.
pub(crate) async fn issue(
    app: &App,
    client: &OAuthClient,
    account: &AccountRow,
    scope: ScopeSet,
    nonce: Option<&str>,
    auth_time: NaiveDateTime,
    access_token: &str,
) -> Result<String, Error> {
    let key = app.keys(client.id_token_alg).signing_key().await?;
    let iat = app.clock.now().timestamp();
    let claims = IdClaims {
        iss: &app.base_url,
        sub: account.id.to_string(),
        aud: &client.id,
        azp: &client.id,
        exp: iat + ID_TOKEN_LIFE.num_seconds(),
        iat,
        auth_time: auth_time.and_utc().timestamp(),
        nonce,
        at_hash: at_hash(access_token),
        profile: ProfileClaims::from_account(account, &app.base_url, |wanted| {
            scope.contains(wanted)
        }),
    };
    let mut header = Header::new(client.id_token_alg.jwt());
    header.kid = Some(key.kid.clone());
    jsonwebtoken::encode(&header, &claims, &key.key)
        .map_err(|error| Error::internal("signing an id token", error))
}

/// Returns the left half of the token's hash (section 3.1.3.6). Both supported algorithms use SHA-256.
fn at_hash(access_token: &str) -> String {
    let hash = sha256(access_token.as_bytes());
    let (left, _) = hash.split_at(hash.len() / 2);
    URL_SAFE_NO_PAD.encode(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_hash_matches_the_published_example() {
        // OpenID Connect Core, appendix A.3.
        assert_eq!(
            at_hash("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"),
            "77QmUPtjPfzWtF2AnpK9RQ"
        );
    }
}
