use serde::{Deserialize, Serialize};

use crate::UserId;

/// The claims of an access token: those of RFC 9068, with `sid`, `token_type`, `origin` and `sso_origin` added.
///
/// `iat`, `nbf` and `exp` are seconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessClaims {
    /// The issuer: the base URL of the identity service.
    pub iss: String,
    /// The audience: also the base URL of the identity service, because tokens are meant for Holdfast's own services.
    pub aud: String,
    /// The user id in decimal.
    pub sub: String,
    /// The session that the token belongs to. Its tokens are revoked together.
    pub sid: String,
    /// The unique id of this token.
    pub jti: String,
    /// When the token was issued.
    pub iat: i64,
    /// When the token becomes valid.
    pub nbf: i64,
    /// When the token expires, without leeway.
    pub exp: i64,
    /// Always `access`.
    pub token_type: String,
    /// The OAuth client that the token was issued to; none for first-party sign-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Space-separated OAuth scopes; none for first-party sign-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `sso` for a token that single sign-on gave to another site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The origin of the site that received the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sso_origin: Option<String>,
}

impl AccessClaims {
    /// Returns the account in `sub`, or none if `sub` is not a user id.
    #[must_use]
    pub fn user_id(&self) -> Option<UserId> {
        self.sub.parse().ok()
    }
}
