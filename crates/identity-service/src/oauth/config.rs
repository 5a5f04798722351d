use serde::Deserialize;

/// `[identity.oauth]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// Whether a client may send its code verifier itself as the challenge, `plain` (RFC 7636 section 4.2),
    /// beside `S256`.
    pub allow_plain_pkce: bool,
    /// Whether every client has to send a challenge made with `S256` (RFC 9700 section 2.1.1), those with a secret too.
    /// Without, a client may still be registered as one that has to.
    pub require_pkce_s256: bool,
}

impl Default for OAuthConfig {
    fn default() -> Self {
        Self {
            allow_plain_pkce: true,
            require_pkce_s256: false,
        }
    }
}
