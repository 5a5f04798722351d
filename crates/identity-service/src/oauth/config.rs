use serde::Deserialize;

/// `[identity.oauth]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// Whether a client may send its code verifier itself as the challenge, `plain` (RFC 7636 section 4.2),
    /// beside `S256`.
    pub allow_plain_pkce: bool,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            allow_plain_pkce: true,
        }
    }
}
