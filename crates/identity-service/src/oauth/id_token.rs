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
    sid: &'a str,
    exp: i64,
    iat: i64,
    auth_time: i64,
    acr: &'static str,
    amr: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_hash: Option<String>,
    #[serde(flatten)]
    profile: ProfileClaims,
}

/// The values of `acr` in ascending order: a password, and a password with a second factor.
pub(crate) const ACR_VALUES: [&str; 2] = ["1", "2"];

/// The session and the scope that an ID token is about.
pub(crate) struct NewIdToken<'a> {
    pub(crate) client: &'a OAuthClient,
    pub(crate) account: &'a AccountRow,
    /// The client's session, which refreshes keep (OpenID Connect Back-Channel Logout section 2.1).
    pub(crate) session_id: &'a str,
    pub(crate) scope: ScopeSet,
    /// When the account's owner authenticated.
    pub(crate) auth_time: NaiveDateTime,
    /// Whether they used their second factor.
    pub(crate) has_second_factor: bool,
    pub(crate) nonce: Option<&'a str>,
}

impl NewIdToken<'_> {
    /// Signs the token with the algorithm of the client. `access_token` is the access token of the same response, if any.
    pub(crate) async fn sign(
        &self,
        app: &App,
        access_token: Option<&str>,
    ) -> Result<String, Error> {
        let (client, account) = (self.client, self.account);
        let key = app.keys(client.id_token_alg).signing_key().await?;
        let [password, second_factor] = ACR_VALUES;
        // RFC 8176 section 2.
        let (acr, amr): (_, &[_]) = match self.has_second_factor {
            true => (second_factor, &["pwd", "otp", "mfa"]),
            false => (password, &["pwd"]),
        };
        let iat = app.clock.now().timestamp();
        let groups = client.metadata.groups_claim;
        let profile = ProfileClaims::load(app, account, Some(self.scope), groups).await?;
        let claims = IdClaims {
            iss: &app.base_url,
            sub: account.id.to_string(),
            aud: &client.id,
            azp: &client.id,
            sid: self.session_id,
            exp: iat + ID_TOKEN_LIFE.num_seconds(),
            iat,
            auth_time: self.auth_time.and_utc().timestamp(),
            acr,
            amr,
            nonce: self.nonce,
            at_hash: access_token.map(at_hash),
            profile: profile.for_id_token(),
        };
        let mut header = Header::new(client.id_token_alg.jwt());
        header.kid = Some(key.kid.clone());
        jsonwebtoken::encode(&header, &claims, &key.key)
            .map_err(|error| Error::internal("signing an id token", error))
    }
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
