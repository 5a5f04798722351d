use serde::Deserialize;

/// `[identity.password]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordConfig {
    /// The cost of bcrypt for new passwords, 4 to 15; each step doubles the time that a sign-in takes the processor.
    pub bcrypt_cost: u32,
    /// Whether a cost under 10 is accepted, which is for tests.
    pub allow_weak_cost: bool,
    /// How hard a new password must be to guess: 0 (no matter) to 4 (very), as zxcvbn counts.
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
    /// Whether a SUPERADMIN has to have a second factor to administer. Commands on the machine do not ask for it.
    pub require_totp: bool,
}
