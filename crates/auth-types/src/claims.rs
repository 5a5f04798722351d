use serde::{Deserialize, Serialize};

use crate::UserId;

/// The claims of an access token (RFC 9068, with `sid` and `token_type` of our own).
///
/// `iat`, `nbf` and `exp` are seconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessClaims {
    /// The identity area's base URL.
    pub iss: String,
    /// The identity area's base URL: our tokens are made for ourselves.
    pub aud: String,
    /// The user id in decimal.
    pub sub: String,
    /// The sign-in lineage; revoked as a whole.
    pub sid: String,
    /// This token alone.
    pub jti: String,
    /// When it was made.
    pub iat: i64,
    /// When it begins to be valid.
    pub nbf: i64,
    /// When it stops being valid, without leeway.
    pub exp: i64,
    /// Always `access`.
    pub token_type: String,
    /// The OAuth client it was issued to; none for first-party sign-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Space-separated OAuth scopes; none for first-party sign-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `sso` for a token that was handed over to another site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The origin of the site that it was handed over to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sso_origin: Option<String>,
}

impl AccessClaims {
    /// The account that the token speaks for, when `sub` is one.
    #[must_use]
    pub fn user_id(&self) -> Option<UserId> {
        self.sub.parse().ok()
    }
}
