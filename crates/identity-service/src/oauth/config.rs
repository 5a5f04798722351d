use serde::Deserialize;

/// The settings of the OAuth server: `[identity.oauth]`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthConfig {
    /// Whether clients may use the code challenge method `plain` (RFC 7636 section 4.2) as well as `S256`.
    pub allow_plain_pkce: bool,
    /// Whether every client, including confidential ones, must send a code challenge with `S256` (RFC 9700 section
    /// 2.1.1). If `false`, single clients can still be registered with this requirement.
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
