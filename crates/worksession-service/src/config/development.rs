use service_kit::config::{self, ConfigError, Exposed};

use super::{Config, PREFIX};

impl Config {
    /// Whether other machines can reach the public URL, because its host is not a loopback address.
    #[must_use]
    pub fn is_public(&self) -> bool {
        config::is_public(&self.public_url(self.listen))
    }

    /// Returns the variables whose values are meant for development on one machine.
    #[must_use]
    pub fn development_values(&self) -> Vec<String> {
        Exposed {
            prefix: PREFIX,
            base_url: &self.public_url(self.listen),
            allow_insecure_cookies: self.allow_insecure_cookies,
            rate_limits: self.rate_limits,
            origins: &[("CORS__ALLOWED_ORIGINS", &self.cors.allowed_origins.0)],
            trusted_proxies: &self.trusted_proxies.0,
            secrets: &[(
                "SECRETS__ENCRYPTION_KEY",
                self.secrets.encryption_key.as_ref(),
            )],
        }
        .development_values()
    }

    /// Refuses development values at a public address.
    ///
    /// # Errors
    /// [`ConfigError`] when there are any: one line that names them all.
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        match self.is_public() {
            true => config::refuse_development(&self.development_values()),
            false => Ok(()),
        }
    }

    /// Returns the `max-age` of `Strict-Transport-Security` in seconds, 0 without https.
    pub(crate) fn hsts_seconds(&self) -> u64 {
        config::hsts_seconds(self.base_url.as_ref(), self.hsts_seconds)
    }
}
