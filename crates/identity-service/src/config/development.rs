use service_kit::config::{self, ConfigError, Exposed};

use super::Config;

impl Config {
    /// Whether the public URL is meant for other machines as well.
    #[must_use]
    pub fn is_public(&self) -> bool {
        config::is_public(&self.public_url(self.listen))
    }

    /// Returns the settings that are meant for development on one machine, by their names in the environment.
    #[must_use]
    pub fn development_values(&self) -> Vec<String> {
        let mut found = Exposed {
            prefix: "IDENTITY",
            base_url: &self.public_url(self.listen),
            allow_insecure_cookies: self.allow_insecure_cookies,
            rate_limits: self.rate_limits,
            origins: &[
                ("SSO__ALLOWED_ORIGINS", &self.sso.allowed_origins.0),
                ("CORS__ALLOWED_ORIGINS", &self.cors.allowed_origins.0),
            ],
            trusted_proxies: &self.trusted_proxies.0,
            secrets: &[
                ("KEYS__ENCRYPTION_KEY", self.keys.encryption_key.as_ref()),
                (
                    "SECRETS__ENCRYPTION_KEY",
                    self.secrets.encryption_key.as_ref(),
                ),
            ],
        }
        .development_values();
        if self.password.allow_weak_cost {
            found.push("IDENTITY__PASSWORD__ALLOW_WEAK_COST=true".to_owned());
        }
        found
    }

    /// Rejects a configuration that must not be used at a public address.
    ///
    /// # Errors
    /// One line that names all settings for development.
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        match self.is_public() {
            true => config::refuse_development(&self.development_values()),
            false => Ok(()),
        }
    }

    /// Returns the `max-age` of `Strict-Transport-Security`, in seconds.
    pub(crate) fn hsts_seconds(&self) -> u64 {
        config::hsts_seconds(self.base_url.as_ref(), self.hsts_seconds)
    }
}
