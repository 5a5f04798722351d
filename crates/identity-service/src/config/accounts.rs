use serde::Deserialize;

/// `[identity.password]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordConfig {
    /// The bcrypt cost of new password hashes, 4 to 15; each step doubles the processor time of a sign-in.
    pub bcrypt_cost: u32,
    /// Whether a cost below 10 is accepted; for tests only.
    pub allow_weak_cost: bool,
    /// The minimum strength of new passwords, as zxcvbn rates them: 0 (any) to 4 (very hard to guess).
    pub min_strength: u8,
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self {
            bcrypt_cost: 12,
            allow_weak_cost: false,
            min_strength: 0,
        }
    }
}

/// `[identity.admin]`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// Whether an administrator needs a second factor for administration. The command line does not require it.
    pub require_totp: bool,
}
